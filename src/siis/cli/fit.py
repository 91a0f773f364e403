"""`siis fit`: from a file to answers, suspects and a report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from siis.cli.config import read_config
from siis.cli.ending import promise, raising
from siis.cli.screen import in_background, one_sentence, printable, say, shown_progress
from siis.results import NEXT, REPORT, SUMMARY

RESULTS = Path("siis-results")
PATHS = ("embeddings", "graph", "labels_file")
LISTS = ("features", "text", "annotators", "unlabelled")
FLAGS = ("text_only", "merge_classes")
ROLES = {"label", "id", "encoding", *LISTS, *FLAGS, *PATHS}
LATER: dict[str, Any] = {"text_only": False, "unlabelled": [], "merge_classes": False}  # roles that 0.1 did not have
NO_SELECTION = "none"
QUERIES, NAMED = 20, 5  # examples to label next: in the file, and in the summary
SHOWN = 30  # characters of an id


@dataclass(frozen=True)
class FitOptions:
    """What a fit was asked to do.

    Attributes
    ----------
    data : str
        Path of the file or folder.
    roles : dict
        Fields of siis.tables.Roles, paths as text.
    corrections : tuple of str
        Paths.
    title : str
    parameters : dict
        Of SIISClassifier.
    queries : int
        How many examples to name that should be labelled next.
    """

    data: str
    roles: dict[str, Any] = field(default_factory=dict)
    corrections: tuple[str, ...] = ()
    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    queries: int = QUERIES

    @classmethod
    def from_plain(cls, found: Any) -> FitOptions:
        """The options that ``asdict`` and JSON made plain; ValueError where it is something else."""
        kinds = {"data": str, "roles": dict, "corrections": list, "title": str, "parameters": dict, "queries": int}
        if isinstance(found, dict):
            found = {"queries": QUERIES, **found}  # version 0.1.0 had no such option
        if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != kinds:
            raise ValueError("these are no options of siis fit")
        roles = {**LATER, **found["roles"]}
        if isinstance(roles.get("text"), str):
            roles["text"] = [roles["text"]]  # 0.1 knew one
        lists = [found["corrections"], *(roles.get(name) or [] for name in LISTS)]
        texts = [value for name, value in roles.items() if name not in (*LISTS, *FLAGS)]
        if set(roles) != ROLES or not all(isinstance(value, str | None) for value in texts):
            raise ValueError("these are no roles of siis fit")
        if not all(isinstance(roles[name], bool) for name in FLAGS):
            raise ValueError("these are no wishes of siis fit")
        if not all(isinstance(items, list) and all(isinstance(item, str) for item in items) for items in lists):
            raise ValueError("these are no lists of names")
        if not all(isinstance(value, str | float | int | None) for value in found["parameters"].values()):
            raise ValueError("these are no parameters of siis fit")
        return cls(**{**found, "roles": roles, "corrections": tuple(found["corrections"])})


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="CSV, TSV (also .gz), Parquet, Arrow/Feather, NPZ, or a folder of images."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the given labels; empty cells are unlabelled.")
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
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same files.")] = 0,
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
    """
    with one_sentence(f"Files in {out} are as they were."):
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
            "embeddings": embeddings,
            "graph": graph,
            "labels_file": labels_file,
            "encoding": encoding,
        }
        for name in PATHS:
            roles[name] = None if roles[name] is None else str(roles[name])
        files = tuple(str(path) for path in corrections or ())
        options = FitOptions(str(data), roles, files, title, parameters, queries)
        run_fit(options, out, quiet, as_json)


def _value(text: str, kind: type, word: str) -> Any:
    """A number, or the word as it is; what is neither is refused by the classifier, by name."""
    try:
        return kind(text) if text != word else word
    except ValueError:
        return text


def run_fit(
    options: FitOptions, out: Path, quiet: bool, as_json: bool, earlier: dict[str, str] | None = None
) -> None:
    """Read, fit, write and print.

    Parameters
    ----------
    options : FitOptions
    out : Path
    quiet, as_json : bool
    earlier : dict of str to str, optional
        Labels that were checked in earlier rounds, by id.
    """
    from siis import tables, workflow  # noqa: PLC0415  (heavy)
    from siis.estimators.classifier import SIISClassifier  # noqa: PLC0415
    from siis.files import check_writable  # noqa: PLC0415
    from siis.parameters import check_parameters  # noqa: PLC0415

    unknown = sorted(set(options.parameters) - set(SIISClassifier().get_params()))
    if unknown:
        raise ValueError(f"parameters must be those of SIISClassifier; found {', '.join(unknown)}. Fit again.")
    with workflow.said_in_options():
        check_parameters(SIISClassifier(**options.parameters), SIISClassifier._rules)
    check_writable(out)
    roles = tables.Roles(
        **{
            **options.roles,
            **{name: Path(path) for name in PATHS if (path := options.roles[name]) is not None},
            **{name: tuple(options.roles[name] or ()) for name in LISTS},
            "features": tuple(options.roles["features"]) if options.roles["features"] else None,
        }
    )
    path = Path(options.data)
    data = in_background(lambda: tables.read(path, roles))
    checked = dict(earlier or {})
    for file in options.corrections:  # later ones go before
        checked.update(tables.read_corrections(Path(file), id=roles.id, label=roles.label))
    given = workflow.given_of(data, checked)
    if not quiet:
        say(f"{path}:")
        for note in data.notes:
            say(f"  {note}")
        if checked:
            say(f"  {len(checked):,} checked {'label' if len(checked) == 1 else 'labels'}: certain")
        for name in workflow.new_classes(data, checked):
            say(f"  a correction brings in a new class, {name!r}: a slip of the pen?")
    fit_and_write(data, given, options, out, quiet, as_json)


def fit_and_write(
    data: Any,
    given: Any,
    options: FitOptions,
    out: Path,
    quiet: bool,
    as_json: bool,
    thumbnails: Any = None,
) -> Any:
    """Fit with progress, write the files, print the summary; the outcome.

    Parameters
    ----------
    data : Data
    given : Given
    options : FitOptions
    out : Path
    quiet, as_json : bool
    thumbnails : callable, optional

    Returns
    -------
    Outcome
    """
    from siis import workflow  # noqa: PLC0415
    from siis.files import write_files  # noqa: PLC0415

    def work() -> tuple[Any, dict[str, bytes]]:
        outcome = workflow.fit_data(
            data,
            given,
            options.parameters,
            source=Path(options.data).name,
            title=options.title,
            results=str(out),
            thumbnails=thumbnails,
            n_queries=options.queries,
        )
        return outcome, workflow.output_files(outcome, asdict(options), options.roles.get("id"))

    with shown_progress(quiet):
        outcome, contents = in_background(work)
    promise(f"The files in {printable(str(out))} are all as they were, or all new.")
    with raising():
        write_files(out, contents)
    promise(f"The files in {printable(str(out))} are the new ones.")
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
    action = "Label" if all(query.action == "label" for query in queries) else "Label or check"
    names = ", ".join(
        query.id if len(query.id) <= SHOWN else query.id[: SHOWN - 1] + "…" for query in queries[:NAMED]
    )
    more = f" and {len(queries) - NAMED:,} more" if len(queries) > NAMED else ""
    return f"{action} these next: {names}{more} ({NEXT})"
