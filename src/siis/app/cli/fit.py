"""`siis fit`: from a file to answers, suspects and a report; on one computer or on the workers of Dask."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from siis.app.cli.interrupts import set_interrupt_message, sigint_raises
from siis.app.cli.parsing import (
    ENCODING,
    HEADER_ROW,
    IMAGE_FOLDER,
    OVERWRITE,
    QUIET,
    RESULTS,
    SHEET,
    SUMMARY_AS_JSON,
    chosen_encoder,
    flag,
    option,
    out_folder,
    read_config,
)
from siis.app.cli.terminal import (
    announce_reading,
    in_background,
    print_line,
    printable,
    report_errors,
    shown_progress,
)
from siis.app.messages import PARAMETERS
from siis.results import NEXT, OWN, QUERIES, REPORT, SUMMARY
from siis.texts import shortened

if TYPE_CHECKING:
    from siis.app.options import FitOptions
    from siis.app.outputs import Outcome

NAMED = 5  # examples to label next that the summary names
SHOWN = 30  # characters of an id
NUMBERS = {"n_neighbors": int, "n_components": int, "alpha": float, "beta": float, "bandwidth": float}  # or a word
WORKERS, MEMORY = 2, "2GB"
IssueColumns = Literal["siis", "cleanlab"]


def fit(
    data: list[Path] = typer.Argument(
        ...,
        metavar="DATA...",
        help="CSV, TSV, TXT (also .gz), XLSX, Parquet, Arrow/Feather or NPZ; JSON or JSONL of a labelling "
        "tool; a folder of images, of JSONL files, one per annotator (also .zip), or of a Hugging Face "
        "data set. Several tables with the same columns are read as one.",
    ),
    out: Path = option("Output folder.", "DIR", default=RESULTS, parser=out_folder),
    label: str | None = option(
        "Column of the labels; empty cells are unlabelled. For labelling tools, the question. (default: "
        "the column named label; the only question)",
        "COLUMN",
    ),
    id: str | None = option("Column of the example ids. (default: row numbers)", "COLUMN"),
    features: list[str] | None = option("Feature columns. (default: numbers, dates, categories)", "COLUMN..."),
    text: list[str] | None = option("Text columns, used in addition to the other features.", "COLUMN..."),
    text_only: bool = flag("--text-only", help="Use the text columns only."),
    unlabelled: list[str] | None = option(
        "Values that mean 'no label', as in --unlabelled '?' NA; '' for empty cells only. (default: NaN, \\N, -1)",
        "WORD...",
    ),
    merge_classes: bool = flag("--merge-classes", help="Merge labels that differ only in spelling (case, spaces)."),
    embeddings: Path | None = option("Feature array with one row per example.", "FILE.npy"),
    annotators: list[str] | None = option("Label columns of several annotators, instead of --label.", "COLUMN..."),
    graph: Path | None = option("Precomputed graph: a symmetric sparse weight matrix.", "FILE.npz"),
    labels_file: Path | None = option("Table with the columns file and label, for an image folder.", "FILE"),
    image: str | None = option(
        "Column of images to compare examples by: names of files, or contents. (default: that of a labelling tool)",
        "COLUMN",
    ),
    image_folder: Path | None = IMAGE_FOLDER,
    encoder: str | None = option(
        "Network that computes features of images or texts; or the name of a timm or sentence-transformers model.",
        "FILE.onnx",
    ),
    encoder_size: int | None = option("Input size: pixels per side, or tokens. (default: from the file)", "N"),
    encoder_mean: list[float] | None = option(
        "Mean that is subtracted from pixels in 0..1. (default: from the file, or ImageNet's)", "NUMBER..."
    ),
    encoder_std: list[float] | None = option(
        "Standard deviation that pixels are divided by. (default: from the file, or ImageNet's)", "NUMBER..."
    ),
    tokenizer: Path | None = option("Tokenizer of a text encoder. (default: tokenizer.json in its folder)", "FILE"),
    encoding: str = ENCODING,
    sheet: str | None = SHEET,
    header_row: int | None = HEADER_ROW,
    corrections: list[Path] | None = option(
        "Checked labels: corrections.csv of a report, or a later export of the labelling tool.", "FILE..."
    ),
    title: str = option("Title of the report.", default=""),
    queries: int = option("Number of examples to suggest for labelling.", default=QUERIES, min=1),
    issues: int | None = option("Number of label issues to list. (default: as many as are probably wrong)", min=1),
    issue_columns: IssueColumns = option(
        "Columns of label_issues.csv. cleanlab: is_label_issue, label_quality, given_label and "
        "predicted_label, for all given labels.",
        default=OWN,
    ),
    n_neighbors: str = option("Neighbours per example.", "K", default="auto"),
    n_components: str = option("Number of eigenvectors.", "M", default="auto"),
    alpha: str = option("Weight of the given labels (fidelity term).", "NUMBER", default="auto"),
    beta: str = option("Weight of the smoothness term.", "NUMBER", default="auto"),
    bandwidth: str = option("Bandwidth of the Gaussian edge weights.", "NUMBER", default="median"),
    metric: str = option("Distance: auto, euclidean or cosine.", default="auto"),
    connectivity: str = option("Edges of the neighbour graph: auto, union or mutual.", default="auto"),
    laplacian: str = option("Graph Laplacian: auto, unnormalized or normalized.", default="auto"),
    neighbor_search: str = option("Neighbour search: auto, exact or faiss.", default="auto"),
    method: str = option(
        "auto: an average of models, by cross-validation; paper: the method as published.", default="auto"
    ),
    members: str = option(
        "Families of models that are averaged, separated by commas: graph, kernel, graph and kernel, "
        "forest. auto: all.",
        "FAMILY,...",
        default="auto",
    ),
    solver: str = option(
        "certified, paper (Algorithm 1), or auto: paper with --method paper, else certified.", default="auto"
    ),
    tol: float = option("Relative duality gap at which the solver stops.", default=0.0001),
    max_iter: int = option("Maximum number of iterations.", default=1000),
    engine: str = option("Array library: auto, numpy or torch (needs `siis[gpu]`).", default="auto"),
    device: str = option("PyTorch device: auto, cuda, cuda:1 or cpu.", default="auto"),
    seed: int = option("Random seed; the same seed gives the same files.", default=0, min=0, max=2**32 - 1),
    cluster: str | None = option(
        "Scheduler address of a Dask cluster, or local; for Parquet files (needs `siis[cluster]`).", "ADDRESS"
    ),
    workers: int | None = option("Number of workers of --cluster local. (default: 2)", min=1),
    memory: str | None = option("Memory per worker of --cluster local. (default: 2GB)", "SIZE"),
    config: Path | None = option(
        "File with values of these options; the command line takes precedence.",
        "FILE.toml",
        is_eager=True,
        callback=read_config,
    ),
    write_table: Path | None = option("Write the table again, with the answers as columns: .csv or .xlsx.", "FILE"),
    overwrite: bool = OVERWRITE,
    quiet: bool = QUIET,
    as_json: bool = SUMMARY_AS_JSON,
) -> None:
    """Classify the examples of a file and list the labels that are probably wrong.

    Writes report.html, report.json, predictions.csv, label_issues.csv, label_quality.csv, label_next.csv,
    near_duplicates.csv, outliers.csv, class_overlap.csv, annotators.csv, model.siis and summary.json to the folder
    --out. Existing files are replaced when the fit is complete. For labelling tools, answers.json, answers.jsonl or
    answers.parquet holds the predictions in the format of the tool.

    \b
    Examples:
      siis fit data.csv --label label --id id --out results
      siis fit mails.parquet --text body --label is_spam
      siis fit photos/ --labels-file labels.csv
      siis fit photos/ --encoder mobilenet.onnx
      siis fit photos/ --encoder clip.onnx --encoder-size 224 --encoder-mean 0.5 --encoder-std 0.5
      siis fit reviews.csv --encoder sentence.onnx --tokenizer tokenizer.json
      siis fit answers.csv --annotators ann bob eve --embeddings vectors.npy
      siis fit data.csv --label label --corrections corrections.csv
      siis fit export.json --label sentiment --out results
      siis fit export.json --image-folder media/ --encoder mobilenet.onnx
      siis fit doccano-export/ --out results
      siis fit book.xlsx --sheet July --header-row 3 --label kind
      siis fit monday.csv tuesday.csv --label label
      siis fit data.csv --issue-columns cleanlab
      siis fit data.csv --config fit.toml --seed 1 --json
      siis fit large.parquet --label label --engine torch --device cuda
      siis fit 'data/*.parquet' --label label --cluster local --workers 4 --memory 8GB
    """
    chosen = dict(locals())
    with report_errors(f"Files in {out} are as they were."):
        announce_reading(data[0], quiet)
        from siis.app.options import FitOptions  # noqa: PLC0415  (heavy)
        from siis.decisions import check_not_reviewed  # noqa: PLC0415
        from siis.tables import Roles  # noqa: PLC0415
        from siis.tables.sheet import found_files  # noqa: PLC0415

        check_not_reviewed(out)
        chosen["members"] = members if members == "auto" else [name.strip() for name in members.split(",")]
        chosen["encoder"] = chosen_encoder(encoder, encoder_size, encoder_mean, encoder_std, tokenizer)
        chosen |= {name: _number(chosen[name], kind) for name, kind in NUMBERS.items()}
        roles = {role.name: chosen[role.name] for role in fields(Roles)}
        lists = {name: tuple(value) for name, value in roles.items() if isinstance(value, list)}
        roles = {name: value for name, value in {**roles, **lists}.items() if value not in (None, ())}
        first, *more = map(str, data if cluster is not None else found_files(data))
        options = FitOptions(
            first,
            Roles(**roles),
            corrections=tuple(map(str, corrections or ())),
            title=title,
            parameters={**{name: chosen[name] for name in PARAMETERS}, "random_state": seed},
            queries=queries,
            issue_columns=issue_columns,
            more=tuple(more),
            write_table="" if write_table is None else str(write_table),
            issues=issues or 0,
        )
        if cluster is not None:
            _fit_on_cluster(options, out, cluster, workers, memory, quiet, as_json)
            return
        if workers is not None or memory is not None:
            raise ValueError("--workers and --memory go with --cluster local. Add it, or leave them out.")
        run_and_print(options, out, quiet, as_json, overwrite=overwrite)


def _number(text: str, kind: type) -> Any:
    """A number, or the text as it is; the classifier refuses what is neither a number nor a word that it knows."""
    try:
        return kind(text)
    except ValueError:
        return text


def run_and_print(options: FitOptions, out: Path, quiet: bool, as_json: bool, **more: Any) -> Outcome:
    """Run a ``Job`` with progress, safe to interrupt, and print the summary; ``more`` is for the job."""
    from siis.app.run import Job  # noqa: PLC0415  (heavy)

    with Job(options, out, **more) as job:
        with shown_progress(quiet):
            understood = in_background(job.read)
        for line in () if quiet else understood:
            print_line(line)
        with shown_progress(quiet):
            outcome = in_background(job.fit)
        set_interrupt_message(f"The files in {printable(str(out))} are all as they were, or all new.")
        with sigint_raises():
            job.write()
        set_interrupt_message(f"The files in {printable(str(out))} are the new ones.")
    if as_json:
        typer.echo(json.dumps(json.loads(job.contents[SUMMARY])))
    elif not quiet:
        _print_summary(outcome, job.contents, out)
    return outcome


def _print_summary(outcome: Outcome, contents: dict[str, bytes], out: Path) -> None:
    from siis.app.report.wording import gain_sentence, query_heading  # noqa: PLC0415  (heavy)

    report = outcome.report
    lines = ["", *report.summary, *(f"Warning: {warning}" for warning in outcome.warnings)]
    if report.queries:
        names = ", ".join(shortened(query.id, SHOWN) for query in report.queries[:NAMED])
        more = f" and {len(report.queries) - NAMED:,} more" if len(report.queries) > NAMED else ""
        heading = query_heading(query.action for query in report.queries)
        lines.append(printable(f"{heading} these next: {names}{more} ({NEXT})", ""))
    if report.label_gain is not None:
        lines.append(gain_sentence(report.label_gain))
    others = [name for name in contents if name != REPORT]
    lines += ["", f"Open {out / REPORT} in a browser. Other files there:", f"{', '.join(others)}."]
    empty = [name for name in others if name.endswith(".csv") and contents[name].count(b"\n") == 1]
    if empty:
        lines.append(f"Of these, without rows: {', '.join(empty)}.")
    typer.echo(printable("\n".join(lines)))


def _fit_on_cluster(
    options: FitOptions, out: Path, address: str, workers: int | None, memory: str | None, quiet: bool, as_json: bool
) -> None:
    """Fit on a cluster (address of a scheduler, or "local") and print the outcome."""
    if options.more:
        raise ValueError("on a cluster, name all files by one path in which * stands for anything: 'data/*.parquet'.")
    if options.write_table:
        raise ValueError("--write-table does not go with --cluster. Leave it out and use the predictions.")
    from siis.distributed import ClusterOptions, connected, fit  # noqa: PLC0415  (heavy)
    from siis.distributed.job import ANSWERS  # noqa: PLC0415
    from siis.distributed.workers import LOCAL  # noqa: PLC0415

    if address != LOCAL and (workers is not None or memory is not None):
        raise ValueError(
            "--workers and --memory are for --cluster local; other clusters have their own. Leave them out."
        )

    def log(line: str) -> None:
        if not quiet:
            print_line(line)

    def work() -> dict[str, Any]:
        with connected(ClusterOptions(address, workers or WORKERS, memory or MEMORY)) as client:
            if link := client.dashboard_link:
                log(f"dashboard: {link}")
            return fit(options, out, client, log)

    summary = in_background(work)
    if as_json:
        typer.echo(json.dumps(summary))
    elif not quiet:
        figures = summary["cluster"]
        typer.echo(
            printable(
                f"\n{figures['rows']:,} rows are classified ({ANSWERS}/part-*.parquet in {out}); about "
                f"{figures['noise_rate']:.0%} of the {figures['labelled']:,} given labels seem wrong. Open "
                f"{out / REPORT}, the report on a sample, in a browser."
            )
        )
