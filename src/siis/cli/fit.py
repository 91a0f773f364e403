"""`siis fit`: from a file to answers, suspects and a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siis.cli.cluster import fit_on_cluster
from siis.cli.config import read_config
from siis.cli.ending import promise, raising
from siis.cli.screen import Result, first_words, in_background, one_sentence, printable, say, shown_progress
from siis.results import NEXT, QUERIES, REPORT, SUMMARY

if TYPE_CHECKING:
    from siis.workflow import FitOptions, Outcome

RESULTS = Path("siis-results")
NO_SELECTION = "none"
NAMED = 5  # examples to label next that the summary names
SHOWN = 30  # characters of an id


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="CSV, TSV (also .gz), Parquet, Arrow/Feather, NPZ, or a folder of images."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the given labels; empty cells are unlabelled. (default: the one that is called label)",
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
        typer.Option(metavar="WORD...", help="What else means 'no label', as in --unlabelled '?' unknown."),
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
    encoding: Annotated[str, typer.Option(help="Of text files.")] = "utf-8",
    corrections: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE...", help="Checked labels, as a report saves them: they are certain."),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "",
    queries: Annotated[
        int, typer.Option(min=1, help="How many examples to name that should be labelled next.")
    ] = QUERIES,
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

    Writes predictions.csv, label_issues.csv, label_quality.csv, label_next.csv, report.html (open it in a browser),
    model.siis and summary.json into the folder --out; files that are there are replaced at the very end.

    \b
    Examples:
      siis fit data.csv --label label --id id --out results
      siis fit mails.parquet --text body --label is_spam
      siis fit photos/ --labels-file labels.csv
      siis fit answers.csv --annotators ann bob eve --embeddings vectors.npy
      siis fit data.csv --label label --corrections corrections.csv
      siis fit data.csv --config fit.toml --seed 1 --json
      siis fit large.parquet --label label --engine torch --device cuda
      siis fit 'data/*.parquet' --label label --cluster local --workers 4 --memory 8GB
    """
    with one_sentence(f"Files in {out} are as they were."):
        first_words(data, quiet)
        from siis.workflow import FitOptions  # noqa: PLC0415  (heavy)

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
        }
        files = tuple(str(path) for path in corrections or ())
        options = FitOptions(str(data), roles, files, title, parameters, queries)
        if cluster is not None:
            fit_on_cluster(options, out, cluster, workers, memory, quiet, as_json)
            return
        if workers is not None or memory is not None:
            raise ValueError("--workers and --memory go with --cluster local. Add it, or leave them out.")
        run_and_print(options, out, quiet, as_json)


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
    from siis.workflow import run_job  # noqa: PLC0415

    def step(name: str, work: Callable[[], Result]) -> Result:
        if name == "read":
            return in_background(work)
        if name == "fit":
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
        others = ", ".join(name for name in contents if name != REPORT)
        typer.echo(printable(f"\nOpen {out / REPORT} in a browser. Other files there:\n{others}."))
    return outcome


def _named(queries: Any) -> str:
    """What to do next, on one line."""
    from siis.report.words import to_do  # noqa: PLC0415

    names = ", ".join(
        query.id if len(query.id) <= SHOWN else query.id[: SHOWN - 1] + "…" for query in queries[:NAMED]
    )
    more = f" and {len(queries) - NAMED:,} more" if len(queries) > NAMED else ""
    return f"{to_do(query.action for query in queries)} these next: {names}{more} ({NEXT})"
