"""`siis fit`: from a file to answers, suspects and a report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from siis.cli.config import read_config
from siis.cli.screen import check_folder, in_background, one_sentence, printable, say, shown_progress

RESULTS = Path("siis-results")
PATHS = ("data", "embeddings", "graph", "labels_file")
NO_SELECTION = "none"


@dataclass(frozen=True)
class FitOptions:
    """What a fit was asked to do.

    Attributes
    ----------
    data : Path
    label, id, text : str, optional
    features : tuple of str, optional
    annotators : tuple of str
    embeddings, graph, labels_file : Path, optional
    encoding : str
    corrections : tuple of Path
    title : str
    parameters : dict
        Of SIISClassifier, where they are not its defaults.
    """

    data: Path
    label: str | None = None
    id: str | None = None
    features: tuple[str, ...] | None = None
    text: str | None = None
    annotators: tuple[str, ...] = ()
    embeddings: Path | None = None
    graph: Path | None = None
    labels_file: Path | None = None
    encoding: str = "utf-8"
    corrections: tuple[Path, ...] = ()
    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Values for JSON."""
        found = asdict(self)
        for name in PATHS:
            found[name] = None if found[name] is None else str(found[name])
        return {**found, "corrections": [str(path) for path in self.corrections]}

    @classmethod
    def from_plain(cls, found: Any) -> FitOptions:
        """The options that ``plain`` wrote; ValueError where it is something else."""
        names = {f.name for f in fields(cls)}
        if not isinstance(found, dict) or set(found) != names or not isinstance(found["parameters"], dict):
            raise ValueError("these are no options of siis fit")
        tuples = {name: tuple(found[name] or ()) for name in ("features", "annotators", "corrections")}
        return cls(
            **{
                **found,
                **{name: None if found[name] is None else Path(found[name]) for name in PATHS},
                "features": tuples["features"] or None,
                "annotators": tuples["annotators"],
                "corrections": tuple(Path(path) for path in tuples["corrections"]),
            }
        )


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
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
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
    into the folder --out; files that are there are replaced at the very end, all or none.

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
        options = FitOptions(
            data=data,
            label=label,
            id=id,
            features=tuple(features) if features else None,
            text=text,
            annotators=tuple(annotators or ()),
            embeddings=embeddings,
            graph=graph,
            labels_file=labels_file,
            encoding=encoding,
            corrections=tuple(corrections or ()),
            title=title,
            parameters=parameters,
        )
        run_fit(options, out, quiet, as_json)


def _value(text: str, kind: type, word: str) -> Any:
    """A number, or the word as it is; what is neither is refused by the classifier, by name."""
    try:
        return kind(text) if text != word else word
    except ValueError:
        return text


def run_fit(options: FitOptions, out: Path, quiet: bool, as_json: bool) -> None:
    """Read, fit, write and print.

    Parameters
    ----------
    options : FitOptions
    out : Path
    quiet, as_json : bool
    """
    from siis import tables  # noqa: PLC0415  (heavy)
    from siis.classifier import SIISClassifier  # noqa: PLC0415
    from siis.parameters import check_parameters  # noqa: PLC0415

    check_parameters(SIISClassifier(**options.parameters), SIISClassifier._rules)
    check_folder(out)
    roles = tables.Roles(
        label=options.label,
        id=options.id,
        features=options.features,
        text=options.text,
        annotators=options.annotators,
        embeddings=options.embeddings,
        graph=options.graph,
        labels_file=options.labels_file,
        encoding=options.encoding,
    )
    data = in_background(lambda: tables.read(options.data, roles))
    checked: dict[str, str] = {}
    for path in options.corrections:  # later ones go before
        checked.update(tables.read_corrections(path))
    if not quiet:
        say(f"{options.data}:")
        for note in data.notes:
            say(f"  {note}")
        if checked:
            say(f"  {len(checked):,} labels were checked: they are certain")
    fit_and_write(data, checked, options, out, quiet, as_json)


def fit_and_write(
    data: Any,
    checked: dict[str, str],
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
    checked : dict of str to str
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
            checked,
            options.parameters,
            source=options.data.name,
            title=options.title,
            thumbnails=thumbnails,
        )
        return outcome, job.output_files(outcome, options.plain())

    with shown_progress(quiet):
        outcome, contents = in_background(work)
    write_files(out, contents)
    if as_json:
        typer.echo(json.dumps(json.loads(contents[job.SUMMARY])))
    elif not quiet:
        typer.echo(printable("\n".join(["", *outcome.report.summary])))
        for warning in outcome.warnings:
            typer.echo(printable(f"Warning: {warning}"))
        typer.echo(printable(f"\nOpen {out / job.REPORT} in a browser. Other files there: predictions.csv,"))
        typer.echo("label_issues.csv, model.siis, summary.json.")
    return outcome
