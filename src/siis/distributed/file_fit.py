"""Fits of Parquet files on a cluster: files -> answers as Parquet, report and model."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from siis._types import Features, Ints
from siis.distributed.communicator import Lost
from siis.distributed.dask_classifier import sample_choices
from siis.distributed.job import ANSWERS, Job, Labels, Log
from siis.distributed.program_stages import write_answers
from siis.distributed.row_blocks import ParquetBlock, TableReader, block_labels, find_blocks, table_rows
from siis.distributed.settings import SampleChoices
from siis.distributed.work_files import load_object, save_object
from siis.distributed.workers import NoWorkers, check_shared_folder
from siis.errors import Message
from siis.files import check_writable, write_files
from siis.results import PREDICTIONS, SUMMARY
from siis.tables import read
from siis.workflow.fit_job import check_options
from siis.workflow.fit_options import FitOptions
from siis.workflow.merged_labels import merge_checked
from siis.workflow.outcome import fit_data
from siis.workflow.outputs import output_files

WORK = ".siis-cluster"  # inside the folder of the results, until they are written
REFUSED = (
    *("text", "annotators", "embeddings", "graph", "labels_file", "encoder", "sheet", "header_row", "image"),
    "image_folder",
)
SUPPORTED = {  # values of parameters of SIISClassifier that DaskSIISClassifier does not have
    "method": (("auto",), "parameters are chosen on a sample"),
    "members": (("auto",), "every family that fits is tried on a sample"),
    "solver": (("auto", "certified"), "the program is solved until its gap is proven"),
    "warm_start": ((False,), "every fit starts anew"),
    "neighbor_search": (("auto",), "neighbours are sought in cells of the rows"),
    "class_prior": ((None,), "class sizes are not used"),
    "affinity": (("nearest_neighbors",), "examples are compared by their features"),
}


def fit(options: FitOptions, out: Path, client: Any, log: Log = lambda text: None) -> dict[str, Any]:
    """Classify the rows of Parquet files on a cluster, and write answers, report and model.

    Stages leave what they have made in a folder inside of ``out``, which must be a folder that all workers see; a fit
    that was stopped goes on from there, and ends with the same answers.

    Parameters
    ----------
    options : FitOptions
        ``data`` is a path, in which * stands for anything.
    out : Path
        Folder of the results.
    client : distributed.Client
    log : callable
        Takes lines of progress.

    Returns
    -------
    dict
        The summary.
    """
    _check(options)
    check_writable(out)
    blocks = find_blocks(options.data)
    work = out.absolute() / WORK
    try:
        begin(options, blocks, work)
        check_shared_folder(client, work, "Name one that they share with --out.")
        job = Job(work, client, blocks, int(options.parameters.get("random_state") or 0), log)
        figures, sizes = job.run(
            lambda: _labels(options, blocks), lambda rows: _fit_sample(options, blocks, work, rows), write_answers
        )
        return _finish(work, {**figures, "seconds": job.times}, sizes)
    except (NoWorkers, Lost) as problem:
        raise ValueError(
            f"the cluster was lost on the way: {problem}. Run the same command again: it goes on from the last stage "
            "that was finished."
        ) from problem


def _check(options: FitOptions) -> None:
    """Refuse options that a cluster would ignore; parameters that are left out have their defaults."""
    given = [name for name in REFUSED if options.roles.get(name)]
    if given or options.corrections:
        what = "--" + (given[0].replace("_", "-") if given else "corrections")
        raise ValueError(f"on a cluster, examples are compared by columns of Parquet files; {what} is not for that.")
    if not options.roles.get("label"):
        raise ValueError("on a cluster, the column of labels must be named with --label")
    check_options(options)
    for name, (values, why) in SUPPORTED.items():
        value, default = options.parameters.get(name, values[0]), values[0]
        if any(type(value) is type(one) and value == one for one in values):
            continue
        found = f"found {{{name}:{{value}}}}. Leave it at {{{name}:{default}}}."
        if default is None:
            found = f"found {{{name}}}. Leave it out."
        raise ValueError(Message(f"on a cluster, {{why}}; {found}", why=why, value=value))


def begin(options: FitOptions, blocks: Sequence[ParquetBlock], work: Path) -> None:
    """Continue the work of an earlier run on the same files with the same options; else begin anew."""
    files = [(path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in {b.path for b in blocks}]
    request = json.dumps([sorted(files), asdict(options)], default=str, sort_keys=True)
    mark = hashlib.sha256(request.encode()).hexdigest()
    path = work / "mark"
    if not (path.exists() and path.read_text() == mark):
        shutil.rmtree(work, ignore_errors=True)
        write_files(work, {"mark": mark.encode()})


def _labels(options: FitOptions, blocks: Sequence[ParquetBlock]) -> Labels:
    """The labels of all rows: one column, read here, block by block."""
    roles = options.to_roles()
    rows, names = block_labels(blocks, roles)
    classes, codes = np.unique(names.astype(str), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{options.data}: must hold labels of two classes or more; found {classes.size} in column "
            f"{roles.label!r}. Label some rows of each class."
        )
    return Labels(rows, codes, classes)


def _fit_sample(
    options: FitOptions, blocks: Sequence[ParquetBlock], work: Path, rows: Ints
) -> tuple[SampleChoices, Features]:
    """Choose everything on a sample, as without a cluster; its report, model and lists become the results'."""
    from pyarrow import parquet  # noqa: PLC0415

    path = work / "sample.parquet"
    parquet.write_table(table_rows(blocks, rows), path)
    data = read(path, options.to_roles())
    outcome = fit_data(
        data,
        merge_checked(data, {}),
        options.parameters,
        source=Path(options.data).name,
        title=options.title,
        results=str(work.parent),
        n_queries=options.queries,
        n_issues=options.issues or None,
    )
    id = options.roles.get("id")
    save_object(work / "outputs.pickle", output_files(outcome, asdict(options), id, options.issue_columns))
    reader = TableReader(data.recipe.encoder, id)  # type: ignore[union-attr]
    return sample_choices(outcome.model, reader), data.X


def _finish(work: Path, figures: dict[str, Any], sizes: Ints) -> dict[str, Any]:
    """Move the answers and the sample's files into the folder of the results, the summary last."""
    out, contents = work.parent, dict(load_object(work / "outputs.pickle"))
    del contents[PREDICTIONS]
    summary: dict[str, Any] = json.loads(contents.pop(SUMMARY))
    del summary["files"][PREDICTIONS]
    summary["cluster"] = {**figures, "answers": dict(zip(figures["classes"], sizes.tolist(), strict=True))}
    target = out / ANSWERS
    shutil.rmtree(target, ignore_errors=True)
    (work / ANSWERS).rename(target)
    contents[SUMMARY] = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    write_files(out, contents)
    shutil.rmtree(work, ignore_errors=True)
    return summary
