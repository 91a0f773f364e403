"""Parquet files -> answers, report and model, on a cluster."""

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
from siis.app.merged_labels import merge_checked
from siis.app.options import FitOptions
from siis.app.outputs import output_files
from siis.app.run import check_options, fit_data
from siis.engine.group import Lost
from siis.estimators.choices import check_choices, choices_of
from siis.files import check_writable, write_files
from siis.results import PREDICTIONS, SUMMARY
from siis.shards import Job, Labels, NoWorkers, SampleChoices, check_shared_folder
from siis.shards.files import load_object, save_object
from siis.shards.job import ANSWERS, Log
from siis.shards.stages import write_answers
from siis.tables import read
from siis.tables.parquet_blocks import Block, TableReader, block_labels, block_rows, find_blocks

WORK = ".siis-cluster"  # inside the folder of the results, until they are written
REFUSED = (
    *("text", "annotators", "embeddings", "graph", "labels_file", "encoder", "sheet", "header_row", "image"),
    "image_folder",
)


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
            lambda: _labels(options, blocks), lambda rows: _chosen(options, blocks, work, rows), write_answers
        )
        return _finish(work, {**figures, "seconds": job.times}, sizes)
    except (NoWorkers, Lost) as problem:
        raise ValueError(
            f"the cluster was lost on the way: {problem}. Run the same command again: it goes on from the last stage "
            "that was finished."
        ) from problem


def _check(options: FitOptions) -> None:
    given = [name for name in REFUSED if getattr(options.roles, name)]
    if given or options.corrections:
        what = "--" + (given[0].replace("_", "-") if given else "corrections")
        raise ValueError(f"on a cluster, examples are compared by columns of Parquet files; {what} is not for that.")
    if not options.roles.label:
        raise ValueError("on a cluster, the column of labels must be named with --label")
    check_options(options)
    check_choices(options.parameters)


def begin(options: FitOptions, blocks: Sequence[Block], work: Path) -> None:
    """Continue the work of an earlier run on the same files with the same options; else begin anew."""
    files = [(path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in {b.path for b in blocks}]
    request = json.dumps([sorted(files), asdict(options)], default=str, sort_keys=True)
    mark = hashlib.sha256(request.encode()).hexdigest()
    path = work / "mark"
    if not (path.exists() and path.read_text() == mark):
        shutil.rmtree(work, ignore_errors=True)
        write_files(work, {"mark": mark.encode()})


def _labels(options: FitOptions, blocks: Sequence[Block]) -> Labels:
    """The labels of all rows: one column, read here, block by block."""
    roles = options.roles
    rows, names = block_labels(blocks, roles)
    classes, codes = np.unique(names.astype(str), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{options.data}: must hold labels of two classes or more; found {classes.size} in column "
            f"{roles.label!r}. Label some rows of each class."
        )
    return Labels(rows, codes, classes)


def _chosen(options: FitOptions, blocks: Sequence[Block], work: Path, rows: Ints) -> tuple[SampleChoices, Features]:
    """Choose everything on a sample, as without a cluster; its report, model and lists become the results'."""
    from pyarrow import parquet  # noqa: PLC0415

    path = work / "sample.parquet"
    parquet.write_table(block_rows(blocks, rows), path)
    data = read(path, options.roles)
    outcome = fit_data(
        data,
        merge_checked(data, {}),
        options,
        results=str(work.parent),
    )
    save_object(work / "outputs.pickle", output_files(outcome))
    reader = TableReader(data.recipe.encoder, options.roles.id)  # type: ignore[union-attr]
    return choices_of(outcome.model, reader), data.X


def _finish(work: Path, figures: dict[str, Any], sizes: Ints) -> dict[str, Any]:
    """Move the answers and the sample's files into the folder of the results, the summary last."""
    out = work.parent
    contents: dict[str, bytes] = dict(load_object(work / "outputs.pickle"))
    contents.pop(PREDICTIONS)
    summary = json.loads(contents.pop(SUMMARY))
    del summary["files"][PREDICTIONS]
    answers = dict(zip(figures["classes"], sizes.tolist(), strict=True))
    summary["cluster"] = {**figures, "answers": answers}
    target = out / ANSWERS
    shutil.rmtree(target, ignore_errors=True)
    (work / ANSWERS).rename(target)
    contents[SUMMARY] = (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    write_files(out, contents)
    shutil.rmtree(work, ignore_errors=True)
    return dict(summary)
