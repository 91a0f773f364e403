"""`siis fit`: from a file to answers, suspects and a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siis.cli.config import read_config
from siis.cli.fit_cluster import fit_on_cluster
from siis.cli.interrupts import set_interrupt_message, sigint_raises
from siis.cli.terminal import (
    Result,
    announce_reading,
    in_background,
    print_line,
    printable,
    report_errors,
    shown_progress,
)
from siis.results import CLEANLAB, NEXT, OWN, QUERIES, REPORT, SUMMARY

if TYPE_CHECKING:
    from siis.workflow import FitOptions, Outcome

RESULTS = Path("siis-results")
NAMED = 5  # examples to label next that the summary names
SHOWN = 30  # characters of an id
NUMBERS = {"n_neighbors": int, "n_components": int, "alpha": float, "beta": float, "bandwidth": float}  # or a word
SETTINGS = (
    *("metric", "connectivity", "laplacian", "neighbor_search", "method", "members", "solver", "tol", "max_iter"),
    *("engine", "device"),
)
ROLES = (
    *("label", "id", "features", "text", "text_only", "annotators", "unlabelled", "merge_classes", "embeddings"),
    *("graph", "labels_file", "image", "image_folder", "encoding", "sheet", "header_row"),
)


def out_folder(name: str | Path) -> Path:
    """Read the name of the folder of the results; without a name, they would go into the current folder."""
    if not str(name).strip():
        raise typer.BadParameter("must name a folder; found an empty name. For the current folder, write --out .")
    return Path(name)


class IssueColumns(StrEnum):
    """Column names of label_issues.csv."""

    siis = OWN
    cleanlab = CLEANLAB


def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="CSV, TSV, TXT (also .gz), XLSX, Parquet, Arrow/Feather or NPZ; JSON or JSONL of a labelling tool; "
            "a folder of images, of JSONL files, one per annotator (also .zip), or of a Hugging Face data set. "
            "Several tables with the same columns are read as one.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", parser=out_folder, help="Output folder.")] = RESULTS,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the labels; empty cells are unlabelled. For labelling tools, the question. "
            "(default: the column named label; the only question)",
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the example ids. (default: row numbers)")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN...", help="Feature columns. (default: numbers, dates, categories)"),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN...", help="Text columns, used in addition to the other features."),
    ] = None,
    text_only: Annotated[bool, typer.Option("--text-only", help="Use the text columns only.")] = False,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD...",
            help="Values that mean 'no label', as in --unlabelled '?' NA; '' for empty cells only. "
            "(default: NaN, \\N, -1)",
        ),
    ] = None,
    merge_classes: Annotated[
        bool, typer.Option("--merge-classes", help="Merge labels that differ only in spelling (case, spaces).")
    ] = False,
    embeddings: Annotated[
        Path | None, typer.Option(metavar="FILE.npy", help="Feature array with one row per example.")
    ] = None,
    annotators: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN...", help="Label columns of several annotators, instead of --label."),
    ] = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Precomputed graph: a symmetric sparse weight matrix.")
    ] = None,
    labels_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table with the columns file and label, for an image folder."),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of images to compare examples by: names of files, or contents. (default: that of a "
            "labelling tool)",
        ),
    ] = None,
    image_folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the files that it names. (default: that of the table)"),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.onnx",
            help="Network that computes features of images or texts; or the name of a timm or "
            "sentence-transformers model.",
        ),
    ] = None,
    encoder_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Input size: pixels per side, or tokens. (default: from the file)"),
    ] = None,
    encoder_mean: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER...",
            help="Mean that is subtracted from pixels in 0..1. (default: from the file, or ImageNet's)",
        ),
    ] = None,
    encoder_std: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER...",
            help="Standard deviation that pixels are divided by. (default: from the file, or ImageNet's)",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tokenizer of a text encoder. (default: tokenizer.json in its folder)"),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "utf-8",
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of an XLSX file. (default: the first)")
    ] = None,
    header_row: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Row of the column names in CSV or XLSX. (default: found)"),
    ] = None,
    corrections: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="Checked labels: corrections.csv of a report, or a later export of the labelling tool.",
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    queries: Annotated[int, typer.Option(min=1, help="Number of examples to suggest for labelling.")] = QUERIES,
    issues: Annotated[
        int | None,
        typer.Option(min=1, help="Number of label issues to list. (default: as many as are probably wrong)"),
    ] = None,
    issue_columns: Annotated[
        IssueColumns,
        typer.Option(
            help="Columns of label_issues.csv. cleanlab: is_label_issue, label_quality, given_label and "
            "predicted_label, for all given labels."
        ),
    ] = IssueColumns.siis,
    n_neighbors: Annotated[str, typer.Option(metavar="K", help="Neighbours per example.")] = "auto",
    n_components: Annotated[str, typer.Option(metavar="M", help="Number of eigenvectors.")] = "auto",
    alpha: Annotated[
        str, typer.Option(metavar="NUMBER", help="Weight of the given labels (fidelity term).")
    ] = "auto",
    beta: Annotated[str, typer.Option(metavar="NUMBER", help="Weight of the smoothness term.")] = "auto",
    bandwidth: Annotated[
        str, typer.Option(metavar="NUMBER", help="Bandwidth of the Gaussian edge weights.")
    ] = "median",
    metric: Annotated[str, typer.Option(help="Distance: auto, euclidean or cosine.")] = "auto",
    connectivity: Annotated[str, typer.Option(help="Edges of the neighbour graph: auto, union or mutual.")] = "auto",
    laplacian: Annotated[str, typer.Option(help="Graph Laplacian: auto, unnormalized or normalized.")] = "auto",
    neighbor_search: Annotated[str, typer.Option(help="Neighbour search: auto, exact or faiss.")] = "auto",
    method: Annotated[
        str, typer.Option(help="auto: an average of models, by cross-validation; paper: the method as published.")
    ] = "auto",
    members: Annotated[
        str,
        typer.Option(
            metavar="FAMILY,...",
            help="Families of models that are averaged, separated by commas: graph, kernel, graph and kernel, "
            "forest. auto: all.",
        ),
    ] = "auto",
    solver: Annotated[
        str,
        typer.Option(help="certified, paper (Algorithm 1), or auto: paper with --method paper, else certified."),
    ] = "auto",
    tol: Annotated[float, typer.Option(help="Relative duality gap at which the solver stops.")] = 1e-4,
    max_iter: Annotated[int, typer.Option(help="Maximum number of iterations.")] = 1000,
    engine: Annotated[str, typer.Option(help="Array library: auto, numpy or torch (needs `siis[gpu]`).")] = "auto",
    device: Annotated[str, typer.Option(help="PyTorch device: auto, cuda, cuda:1 or cpu.")] = "auto",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Random seed; the same seed gives the same files.")
    ] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Scheduler address of a Dask cluster, or local; for Parquet files (needs `siis[cluster]`).",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of workers of --cluster local. (default: 2)")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory per worker of --cluster local. (default: 2GB)")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            is_eager=True,
            callback=read_config,
            help="File with values of these options; the command line takes precedence.",
        ),
    ] = None,
    write_table: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table again, with the answers as columns: .csv or .xlsx."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace results of another table in the output folder.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
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
        from siis.decisions import check_not_reviewed  # noqa: PLC0415
        from siis.tables.sheet import found_files  # noqa: PLC0415  (heavy)
        from siis.workflow import FitOptions  # noqa: PLC0415

        check_not_reviewed(out)

        chosen["members"] = members if members == "auto" else [name.strip() for name in members.split(",")]
        parameters = {name: _value(chosen[name], kind) for name, kind in NUMBERS.items()}
        parameters |= {name: chosen[name] for name in SETTINGS} | {"random_state": seed}
        roles = {name: _text(chosen[name]) if isinstance(chosen[name], Path) else chosen[name] for name in ROLES}
        roles |= {"annotators": annotators or [], "unlabelled": unlabelled or []}
        roles["encoder"] = chosen_encoder(encoder, encoder_size, encoder_mean, encoder_std, tokenizer)
        checked = tuple(str(path) for path in corrections or ())
        first, *more = map(str, data if cluster is not None else found_files(data))
        written_table, columns = _text(write_table) or "", issue_columns.value
        options = FitOptions(
            first,
            roles,
            checked,
            title,
            parameters,
            queries,
            columns,
            tuple(more),
            write_table=written_table,
            issues=issues or 0,
        )
        if cluster is not None and more:
            raise ValueError(
                "on a cluster, name all files by one path in which * stands for anything: 'data/*.parquet'."
            )
        if cluster is not None and write_table is not None:
            raise ValueError("--write-table does not go with --cluster. Leave it out and use the predictions.")
        if cluster is not None:
            fit_on_cluster(options, out, cluster, workers, memory, quiet, as_json)
            return
        if workers is not None or memory is not None:
            raise ValueError("--workers and --memory go with --cluster local. Add it, or leave them out.")
        run_and_print(options, out, quiet, as_json, overwrite=overwrite)


def chosen_encoder(
    source: str | None,
    size: int | None = None,
    mean: list[float] | None = None,
    std: list[float] | None = None,
    tokenizer: Path | None = None,
) -> dict[str, Any] | None:
    """The options of the encoder as plain values; None without an encoder."""
    from siis.encode import EncoderChoice  # noqa: PLC0415

    if source is None:
        given = {"--encoder-size": size, "--encoder-mean": mean, "--encoder-std": std, "--tokenizer": tokenizer}
        lonely = [name for name, value in given.items() if value not in (None, [])]
        if lonely:
            raise ValueError(f"{lonely[0]} goes with an encoder; found none. Name one with --encoder.")
        return None
    less, over = (tuple(numbers) if numbers else None for numbers in (mean, std))
    return EncoderChoice(source, size, less, over, _text(tokenizer)).to_plain()


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _value(text: str, kind: type) -> Any:
    """A number, or the text as it is; the classifier refuses what is neither a number nor a word that it knows."""
    try:
        return kind(text)
    except ValueError:
        return text


def run_and_print(options: FitOptions, out: Path, quiet: bool, as_json: bool, **more: Any) -> Outcome:
    """Run the job with progress, safe to interrupt, and print the summary; ``more`` goes to ``run_job``."""
    from siis.report.wording import gain_sentence  # noqa: PLC0415
    from siis.workflow import run_job  # noqa: PLC0415

    def step(name: str, work: Callable[[], Result]) -> Result:
        if name in ("read", "fit"):
            with shown_progress(quiet):
                return in_background(work)
        set_interrupt_message(f"The files in {printable(str(out))} are all as they were, or all new.")
        with sigint_raises():
            written = work()
        set_interrupt_message(f"The files in {printable(str(out))} are the new ones.")
        return written

    def log(line: str) -> None:
        if not quiet:
            print_line(line)

    outcome, contents = run_job(options, out, log=log, step=step, **more)
    if as_json:
        typer.echo(json.dumps(json.loads(contents[SUMMARY])))
    elif not quiet:
        typer.echo(printable("\n".join(["", *outcome.report.summary])))
        for warning in outcome.warnings:
            typer.echo(printable(f"Warning: {warning}"))
        if outcome.report.queries:
            typer.echo(printable(_named(outcome.report.queries), ""))
        if outcome.report.label_gain is not None:
            typer.echo(printable(gain_sentence(outcome.report.label_gain)))
        others = [name for name in contents if name != REPORT]
        empty = [name for name in others if name.endswith(".csv") and contents[name].count(b"\n") == 1]
        without = f"\nOf these, without rows: {', '.join(empty)}." if empty else ""
        typer.echo(
            printable(f"\nOpen {out / REPORT} in a browser. Other files there:\n{', '.join(others)}.{without}")
        )
    return outcome


def _named(queries: Any) -> str:
    """What to do next, on one line."""
    from siis.report.wording import query_heading  # noqa: PLC0415

    names = ", ".join(
        query.id if len(query.id) <= SHOWN else query.id[: SHOWN - 1] + "…" for query in queries[:NAMED]
    )
    more = f" and {len(queries) - NAMED:,} more" if len(queries) > NAMED else ""
    return f"{query_heading(query.action for query in queries)} these next: {names}{more} ({NEXT})"
