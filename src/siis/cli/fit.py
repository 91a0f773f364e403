"""`siis fit`: from a file to answers, suspects and a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siis.cli.cluster import fit_on_cluster
from siis.cli.config import read_config
from siis.cli.ending import promise, raising
from siis.cli.screen import Result, first_words, in_background, one_sentence, printable, say, shown_progress
from siis.results import CLEANLAB, NEXT, OWN, QUERIES, REPORT, SUMMARY

if TYPE_CHECKING:
    from siis.workflow import FitOptions, Outcome

RESULTS = Path("siis-results")
NO_SELECTION = "none"
NAMED = 5  # examples to label next that the summary names
SHOWN = 30  # characters of an id


class IssueColumns(StrEnum):
    """What the columns of label_issues.csv are called."""

    siis = OWN
    cleanlab = CLEANLAB


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV (also .gz), XLSX, Parquet, Arrow/Feather, NPZ; JSON or JSONL of a labelling tool; a "
            "folder of images, or of JSONL files, one for each annotator.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the given labels; empty cells are unlabelled. Of a labelling tool: the question. "
            "(default: the one that is called label; the only question)",
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names the examples. (default: row numbers)")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN...", help="Columns to compare examples by. (default: numbers, dates, categories)"
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN...", help="Columns of texts to compare examples by, beside the others."),
    ] = None,
    text_only: Annotated[bool, typer.Option("--text-only", help="Compare by texts alone.")] = False,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD...",
            help="Words that mean 'no label', as in --unlabelled '?' NA; '' for empty cells alone. "
            "(default: NaN, \\N, -1)",
        ),
    ] = None,
    merge_classes: Annotated[
        bool, typer.Option("--merge-classes", help="Labels that differ only in how they are written are one class.")
    ] = False,
    embeddings: Annotated[
        Path | None, typer.Option(metavar="FILE.npy", help="A row of numbers for each example.")
    ] = None,
    annotators: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN...", help="Columns of the answers of several people, instead of --label."),
    ] = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Ready-made graph: a symmetric sparse matrix of weights.")
    ] = None,
    labels_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table with the columns file and label, for a folder of images."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.onnx",
            help="Network that turns images or texts into features; or the name of a model of timm or "
            "sentence-transformers.",
        ),
    ] = None,
    encoder_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Pixels of a side, or tokens of a text, that it takes. (default: its file's)"),
    ] = None,
    encoder_mean: Annotated[
        list[float] | None,
        typer.Option(metavar="NUMBER...", help="Of pixels in 0..1: taken off. (default: its file's, or ImageNet's)"),
    ] = None,
    encoder_std: Annotated[
        list[float] | None,
        typer.Option(metavar="NUMBER...", help="Of pixels: divided by. (default: its file's, or ImageNet's)"),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tokenizer of an encoder of texts. (default: tokenizer.json beside it)"),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of text files.")] = "utf-8",
    sheet: Annotated[str | None, typer.Option(metavar="NAME", help="Of an XLSX file. (default: the first)")] = None,
    corrections: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE...",
            help="Checked labels, as a report saves them, or a later export of the labelling tool: they are certain.",
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "",
    queries: Annotated[
        int, typer.Option(min=1, help="How many examples to name that should be labelled next.")
    ] = QUERIES,
    issue_columns: Annotated[
        IssueColumns,
        typer.Option(
            help="Columns of label_issues.csv. cleanlab: is_label_issue, label_quality, given_label, "
            "predicted_label, of all given labels."
        ),
    ] = IssueColumns.siis,
    n_neighbors: Annotated[str, typer.Option(metavar="K", help="Neighbours of each example.")] = "auto",
    n_components: Annotated[str, typer.Option(metavar="M", help="Size of the smooth basis.")] = "auto",
    alpha: Annotated[str, typer.Option(metavar="NUMBER", help="Trust in the labels.")] = "auto",
    beta: Annotated[str, typer.Option(metavar="NUMBER", help="Smoothness.")] = "auto",
    bandwidth: Annotated[str, typer.Option(metavar="NUMBER", help="Width of the edges' weights.")] = "median",
    metric: Annotated[str, typer.Option(help="auto, euclidean or cosine.")] = "auto",
    edges: Annotated[str, typer.Option(help="auto, union or mutual.")] = "auto",
    laplacian: Annotated[str, typer.Option(help="auto, unnormalized or normalized.")] = "auto",
    neighbors: Annotated[str, typer.Option(help="auto, exact, faiss or pynndescent.")] = "auto",
    selection: Annotated[str, typer.Option(help="auto, or none: the plain method of the paper.")] = "auto",
    schedule: Annotated[str, typer.Option(help="certified, or paper: Algorithm 1.")] = "certified",
    tol: Annotated[float, typer.Option(help="Relative duality gap at which to stop.")] = 1e-4,
    max_iter: Annotated[int, typer.Option(help="Iterations at most.")] = 1000,
    engine: Annotated[str, typer.Option(help="auto, numpy, or torch: PyTorch, as `siis[gpu]` brings it.")] = "auto",
    device: Annotated[str, typer.Option(help="Of PyTorch: auto, cuda, cuda:1, cpu.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same files.")] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fit Parquet files ('data/*.parquet') on this Dask cluster, as `siis[cluster]` brings it; or local.",
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Of --cluster local. (default: 2)")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of each worker of --cluster local. (default: 2GB)")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            is_eager=True,
            callback=read_config,
            help="Values of these options; the command line goes before.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Classify the examples of a file and list the labels that look wrong.

    Writes predictions.csv, label_issues.csv, label_quality.csv, label_next.csv, near_duplicates.csv, outliers.csv,
    class_overlap.csv, annotators.csv, report.html (open it in a browser), model.siis and summary.json into the folder
    --out; files that are there are replaced at the very end. The file of a labelling tool is written again with the
    answers in it: answers.json, answers.jsonl or answers.parquet.

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
      siis fit doccano-export/ --out results
      siis fit book.xlsx --sheet July --label kind
      siis fit data.csv --issue-columns cleanlab
      siis fit data.csv --config fit.toml --seed 1 --json
      siis fit large.parquet --label label --engine torch --device cuda
      siis fit 'data/*.parquet' --label label --cluster local --workers 4 --memory 8GB
    """
    with one_sentence(f"Files in {out} are as they were."):
        first_words(data, quiet)
        from siis.review.journal import check_not_reviewed  # noqa: PLC0415
        from siis.workflow import FitOptions  # noqa: PLC0415  (heavy)

        check_not_reviewed(out)

        parameters = {
            "n_neighbors": _value(n_neighbors, int, "auto"),
            "n_components": _value(n_components, int, "auto"),
            "alpha": _value(alpha, float, "auto"),
            "beta": _value(beta, float, "auto"),
            "bandwidth": _value(bandwidth, float, "median"),
            "metric": metric,
            "graph": edges,
            "laplacian": laplacian,
            "neighbors": neighbors,
            "selection": None if selection == NO_SELECTION else selection,
            "schedule": schedule,
            "tol": tol,
            "max_iter": max_iter,
            "random_state": seed,
            "engine": engine,
            "device": device,
        }
        roles = {
            "label": label,
            "id": id,
            "features": features,
            "text": text,
            "text_only": text_only,
            "annotators": annotators or [],
            "unlabelled": unlabelled or [],
            "merge_classes": merge_classes,
            "embeddings": _text(embeddings),
            "graph": _text(graph),
            "labels_file": _text(labels_file),
            "encoding": encoding,
            "sheet": sheet,
            "encoder": chosen_encoder(encoder, encoder_size, encoder_mean, encoder_std, tokenizer),
        }
        files = tuple(str(path) for path in corrections or ())
        options = FitOptions(str(data), roles, files, title, parameters, queries, issue_columns.value)
        if cluster is not None:
            fit_on_cluster(options, out, cluster, workers, memory, quiet, as_json)
            return
        if workers is not None or memory is not None:
            raise ValueError("--workers and --memory go with --cluster local. Add it, or leave them out.")
        run_and_print(options, out, quiet, as_json)


def chosen_encoder(
    source: str | None,
    size: int | None = None,
    mean: list[float] | None = None,
    std: list[float] | None = None,
    tokenizer: Path | None = None,
) -> dict[str, Any] | None:
    """What is said of an encoder, in plain values; None where there is none.

    Parameters
    ----------
    source : str, optional
    size : int, optional
    mean, std : list of float, optional
    tokenizer : Path, optional

    Returns
    -------
    dict or None
    """
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


def _value(text: str, kind: type, word: str) -> Any:
    """A number, or the word as it is; what is neither is refused by the classifier, by name."""
    try:
        return kind(text) if text != word else word
    except ValueError:
        return text


def run_and_print(options: FitOptions, out: Path, quiet: bool, as_json: bool, **more: Any) -> Outcome:
    """Do the main job with its steps shown, interruptible and promised about; print what came of it.

    Parameters
    ----------
    options : FitOptions
    out : Path
    quiet, as_json : bool
    **more
        As for ``run_job``.

    Returns
    -------
    Outcome
    """
    from siis.report.words import enough  # noqa: PLC0415
    from siis.workflow import run_job  # noqa: PLC0415

    def step(name: str, work: Callable[[], Result]) -> Result:
        if name in ("read", "fit"):
            with shown_progress(quiet):
                return in_background(work)
        promise(f"The files in {printable(str(out))} are all as they were, or all new.")
        with raising():
            written = work()
        promise(f"The files in {printable(str(out))} are the new ones.")
        return written

    def tell(line: str) -> None:
        if not quiet:
            say(line)

    outcome, contents = run_job(options, out, say=tell, step=step, **more)
    if as_json:
        typer.echo(json.dumps(json.loads(contents[SUMMARY])))
    elif not quiet:
        typer.echo(printable("\n".join(["", *outcome.report.summary])))
        for warning in outcome.warnings:
            typer.echo(printable(f"Warning: {warning}"))
        if outcome.report.queries:
            typer.echo(printable(_named(outcome.report.queries), ""))
        if outcome.report.enough is not None:
            typer.echo(printable(enough(outcome.report.enough)))
        others = [name for name in contents if name != REPORT]
        empty = [name for name in others if name.endswith(".csv") and contents[name].count(b"\n") == 1]
        without = f"\nOf these, without rows: {', '.join(empty)}." if empty else ""
        typer.echo(
            printable(f"\nOpen {out / REPORT} in a browser. Other files there:\n{', '.join(others)}.{without}")
        )
    return outcome


def _named(queries: Any) -> str:
    """What to do next, on one line."""
    from siis.report.words import to_do  # noqa: PLC0415

    names = ", ".join(
        query.id if len(query.id) <= SHOWN else query.id[: SHOWN - 1] + "…" for query in queries[:NAMED]
    )
    more = f" and {len(queries) - NAMED:,} more" if len(queries) > NAMED else ""
    return f"{to_do(query.action for query in queries)} these next: {names}{more} ({NEXT})"
