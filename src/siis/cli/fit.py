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
from siis.results import REPORT, SUMMARY

RESULTS = Path("siis-results")
PATHS = ("embeddings", "graph", "labels_file")
ROLES = {"label", "id", "features", "text", "annotators", "encoding", *PATHS}
NO_SELECTION = "none"


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
    """

    data: str
    roles: dict[str, Any] = field(default_factory=dict)
    corrections: tuple[str, ...] = ()
    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, found: Any) -> FitOptions:
        """The options that ``asdict`` and JSON made plain; ValueError where it is something else."""
        kinds = {"data": str, "roles": dict, "corrections": list, "title": str, "parameters": dict}
        if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != kinds:
            raise ValueError("these are no options of siis fit")
        roles = found["roles"]
        lists = [found["corrections"], roles.get("features") or [], roles.get("annotators")]
        texts = [value for name, value in roles.items() if name not in ("features", "annotators")]
        if set(roles) != ROLES or not all(isinstance(value, str | None) for value in texts):
            raise ValueError("these are no roles of siis fit")
        if not all(isinstance(items, list) and all(isinstance(item, str) for item in items) for items in lists):
            raise ValueError("these are no lists of names")
        if not all(isinstance(value, str | float | int | None) for value in found["parameters"].values()):
            raise ValueError("these are no parameters of siis fit")
        return cls(**{**found, "corrections": tuple(found["corrections"])})


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
            metavar="COLUMN...", help="Columns to compare examples by. (default: numbers and short categories)"
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of texts to compare examples by (TF-IDF).")
    ] = None,
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

    Writes predictions.csv, label_issues.csv, report.html (open it in a browser), model.siis and summary.json
    into the folder --out; files that are there are replaced at the very end.

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
            "annotators": annotators or [],
            "embeddings": embeddings,
            "graph": graph,
            "labels_file": labels_file,
            "encoding": encoding,
        }
        for name in PATHS:
            roles[name] = None if roles[name] is None else str(roles[name])
        files = tuple(str(path) for path in corrections or ())
        options = FitOptions(str(data), roles, files, title, parameters)
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
    from siis import job, tables  # noqa: PLC0415  (heavy)
    from siis.classifier import SIISClassifier  # noqa: PLC0415
    from siis.files import check_writable  # noqa: PLC0415
    from siis.parameters import check_parameters  # noqa: PLC0415

    unknown = sorted(set(options.parameters) - set(SIISClassifier().get_params()))
    if unknown:
        raise ValueError(f"parameters must be those of SIISClassifier; found {', '.join(unknown)}. Fit again.")
    check_parameters(SIISClassifier(**options.parameters), SIISClassifier._rules)
    check_writable(out)
    roles = tables.Roles(
        **{
            **options.roles,
            **{name: Path(path) for name in PATHS if (path := options.roles[name]) is not None},
            "features": tuple(options.roles["features"]) if options.roles["features"] else None,
            "annotators": tuple(options.roles["annotators"]),
        }
    )
    path = Path(options.data)
    data = in_background(lambda: tables.read(path, roles))
    checked = dict(earlier or {})
    for file in options.corrections:  # later ones go before
        checked.update(tables.read_corrections(Path(file)))
    given = job.given_of(data, checked)
    if not quiet:
        say(f"{path}:")
        for note in data.notes:
            say(f"  {note}")
        if checked:
            say(f"  {len(checked):,} checked {'label' if len(checked) == 1 else 'labels'}: certain")
        for name in job.new_classes(data, checked):
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
    from siis import job  # noqa: PLC0415
    from siis.files import write_files  # noqa: PLC0415

    def work() -> tuple[Any, dict[str, bytes]]:
        outcome = job.fit_data(
            data,
            given,
            options.parameters,
            source=Path(options.data).name,
            title=options.title,
            thumbnails=thumbnails,
        )
        return outcome, job.output_files(outcome, asdict(options), options.roles.get("id"))

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
        typer.echo(printable(f"\nOpen {out / REPORT} in a browser. Other files there: predictions.csv,"))
        typer.echo("label_issues.csv, model.siis, summary.json.")
    return outcome
