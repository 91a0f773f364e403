"""A cost model of fits on a cluster, from results/cluster.csv, and what it says of larger data.

Processor seconds of a stage are its leading operations (docs/scale.md) over the number of workers, times a cost of
one that is a power of the rows of a shard: what does not fit into caches costs more. The memory of the larger worker
is that of an idle one, plus the leading bytes, plus a constant; what an iteration of the program sends, a constant
times the rows that are fetched. Each size is forecast by the other sizes alone. Writes results/cluster_model.csv and
cluster_model.md.
"""

import csv

import numpy as np

from protocol import RESULTS
from siis.distributed import job
from siis.distributed.program_stages import MOST_SMOOTHED_AT_ONCE
from siis.distributed.settings import ROOMY_FACTOR
from siis.distributed.sharded_engine import LOW_MEMORY_COLUMNS

COLUMNS = ("rows", "stage", "quantity", "measured", "modelled", "ratio")
COUNTS = ("edges", "halo", "vectors", "iterations", "cells", "columns_evidence", "columns_basis")
CLASSES, DIMENSIONS, SAMPLED, FOLDS = 10, 64, 20_000, 5  # of benchmarks/cluster.py
WORKERS, WORKER_BYTES = 2, 2e9
CHOSEN_VECTORS = 60
PROBES, CENTERS = (
    8,
    1000,
)  # cells in which a row is sought; centres of the kernel model, with which it is compared, too
MOST_CELLS = 1000  # a twentieth of the sample
DENSE = 0.1  # an operation of a dense product over one of a sparse product
SLIGHT = {"seconds": 1.0, "gigabytes": 0.0, "megabytes": 0.0}  # what is below is not worth a model
WANTED = 1.5
MACHINE = {"cores": 16, "gigabytes": 64.0}
USED = 0.9  # share of the memory
NETWORK = 1.25e9  # bytes that a machine sends in a second
LARGER = (10_000_000, 100_000_000, 1_000_000_000)

# leading operations of each stage, in all workers; what is measured of a run is its ``case``
SECONDS = {
    "plan": lambda case: case["rows"],
    "sample": lambda case: 1.0,
    "cells": lambda case: SAMPLED * case["cells"] * DIMENSIONS,
    "partition": lambda case: case["rows"] * (case["cells"] + CENTERS) * DIMENSIONS,
    "neighbours": lambda case: PROBES * case["rows"] ** 2 / case["cells"] * DIMENSIONS,
    "graph": lambda case: case["edges"],
    "basis": lambda case: case["columns_basis"] * (case["edges"] + DENSE * case["rows"] * case["vectors"]),
    "evidence": lambda case: (
        case["columns_evidence"] * (case["edges"] + DENSE * case["rows"] * min(case["vectors"], 64))
    ),
    "solve": lambda case: (
        case["iterations"] * CLASSES * (3 * case["edges"] + 2 * DENSE * case["rows"] * case["vectors"])
    ),
    "calibration": lambda case: 1.0,
}
ON_CLIENT = ("plan", "sample", "cells", "calibration")


def low_memory(case):
    """Whether memory is short for so many rows, as the job decides it."""
    rows = job.UNEVEN * case["rows"] / WORKERS
    graph = rows * (job.BYTES_PER_NEIGHBOR * neighbors(case) + job.BYTES_PER_ROW)
    columns = (WORKER_BYTES * job.MEMORY_USED - job.MEMORY_OF_PROGRAM - graph) / (4 * rows)
    most = min((columns - job.BLOCKS_HELD * LOW_MEMORY_COLUMNS) / job.COPIES_HELD, columns / job.AT_THE_END)
    return most < ROOMY_FACTOR * CHOSEN_VECTORS


def neighbors(case):
    """Of each row, nearly: an edge is named by one or two of its ends."""
    return case["edges"] / case["rows"] / 0.8


def basis_bytes(case):
    spare, width = (1, LOW_MEMORY_COLUMNS) if low_memory(case) else (4, max(case["vectors"] // 4, LOW_MEMORY_COLUMNS))
    return case["rows"] * (8 * case["vectors"] + 4 * spare * width + 24 * width) + 16 * case["edges"]


def evidence_bytes(case):
    at_once = min(FOLDS, MOST_SMOOTHED_AT_ONCE // (case["rows"] / WORKERS * CLASSES))
    folds = 0 if low_memory(case) else 36 * at_once * CLASSES
    return case["rows"] * (50 * CLASSES + folds + 4 * min(case["vectors"], 64)) + 24 * case["edges"]


def solve_bytes(case):
    rows, multipliers = (50, 0) if low_memory(case) else (100, 4 * CLASSES + 20)
    return case["rows"] * (4 * case["vectors"] + rows * CLASSES) + (20 + multipliers) * case["edges"]


# leading bytes of a stage, in all workers
GIGABYTES = {
    "neighbours": lambda case: case["rows"] * (4 * DIMENSIONS + 8 * neighbors(case) + 60),
    "graph": lambda case: 32 * case["rows"] * neighbors(case),
    "basis": basis_bytes,
    "evidence": evidence_bytes,
    "solve": solve_bytes,
}
MEGABYTES = {"solve": lambda case: 8e-6 * case["halo"] * CLASSES}  # that an iteration sends
LEADING = {"seconds": SECONDS, "gigabytes": GIGABYTES, "megabytes": MEGABYTES}


def cases_of(rows):
    """Fits on the cluster whose counts are known: size -> counts, and what was measured of each stage."""
    found = {}
    for row in rows:
        if row["engine"] != "cluster" or not row.get("busy"):
            continue
        case = found.setdefault(int(row["rows"]), {"rows": int(row["rows"]), **{q: {} for q in LEADING}})
        case.update({name: float(row[name]) for name in COUNTS})
        stage = row["stage"]
        if stage == "plan":
            case["idle"] = float(row["peak_gb"])
        if stage in SECONDS:
            case["seconds"][stage] = max(float(row["busy"]), 1e-3)
        if stage in GIGABYTES:
            case["gigabytes"][stage] = float(row["peak_gb"])
        if stage in MEGABYTES:
            case["megabytes"][stage] = float(row["mb_per_iteration"])
    whole = {n: case for n, case in found.items() if "idle" in case and set(case["seconds"]) == set(SECONDS)}
    return dict(sorted(whole.items()))  # of a run that went on, the first stages are not known


def modelled(quantity, stage, case, others):
    """What other cases say of one."""
    of = LEADING[quantity][stage]
    if quantity == "gigabytes":
        rest = [c[quantity][stage] - c["idle"] - of(c) / WORKERS / 1e9 for c in others]
        return case["idle"] + of(case) / WORKERS / 1e9 + float(np.mean(rest))
    costs = np.log([c[quantity][stage] / of(c) for c in others])
    if quantity == "megabytes" or stage in ON_CLIENT:
        return float(np.exp(costs.mean()) * of(case))
    slope, at = np.polyfit(np.log([c["rows"] for c in others]), costs, 1)
    rows = min(case["rows"], most_rows(others)) if case.get("is_projected") else case["rows"]
    return float(np.exp(at + slope * np.log(rows)) * of(case))


def most_rows(cases):
    """Of the largest measured case: more shards, not larger ones, hold more rows."""
    return max(case["rows"] for case in cases)


def forecasts(cases):
    """Each size by the others: rows of the file."""
    found = []
    for n, case in cases.items():
        others = [other for m, other in cases.items() if m != n]
        if len(others) < 2:
            continue
        for quantity in LEADING:
            pairs = [(stage, took, modelled(quantity, stage, case, others)) for stage, took in case[quantity].items()]
            if quantity == "seconds":
                pairs.append(("all", *(sum(values) for values in list(zip(*pairs, strict=True))[1:])))
            found += [
                (n, stage, quantity, f"{took:.3g}", f"{value:.3g}", f"{value / took:.2f}")
                for stage, took, value in pairs
            ]
    return found


def projected(n, cases):
    """Machines, gigabytes in all, and hours of a fit of n rows."""
    largest = max(cases.values(), key=lambda case: case["rows"])
    per_row = WORKERS * (max(largest["gigabytes"].values()) - largest["idle"]) / largest["rows"]
    each = USED * MACHINE["gigabytes"] / MACHINE["cores"] - largest["idle"]
    machines = max(1, int(np.ceil(n * per_row / (each * MACHINE["cores"]))))
    cells, edges = min(MOST_CELLS, n // 2_000), largest["edges"] / largest["rows"] * n
    case = {**largest, "rows": n, "cells": cells, "edges": edges, "is_projected": True}
    seconds = 0.0
    for stage in largest["seconds"]:
        share = 1.0 if stage in ON_CLIENT else WORKERS / (machines * MACHINE["cores"])
        seconds += modelled("seconds", stage, case, list(cases.values())) * share
    halo = largest["halo"] / largest["rows"] * n * np.log2(machines * MACHINE["cores"])
    columns = largest["columns_evidence"] + largest["columns_basis"] + 2 * CLASSES * largest["iterations"]
    seconds += 4 * halo * columns / (machines * NETWORK)
    return machines, n * per_row + largest["idle"] * machines * MACHINE["cores"], seconds / 3600


def table(found, cases):
    """Markdown: measured and modelled, then the projection."""
    if not found:
        return "Not measured yet: cluster.csv must hold fits of three sizes or more, with their counts.\n"
    named = {"seconds": "processor seconds", "gigabytes": "GB, larger worker", "megabytes": "MB per iteration"}
    lines = ["| rows | stage | quantity | measured | modelled by the other sizes | ratio |", "|---" * 6 + "|"]
    worth = [row for row in found if float(row[3]) >= SLIGHT[row[2]]]
    lines += [f"| {row[0]:,} | {row[1]} | {named[row[2]]} | {' | '.join(row[3:])} |" for row in worth]
    good = sum(1 / WANTED <= float(row[5]) <= WANTED for row in worth)
    lines += [
        "",
        f"Within a factor of {WANTED}: {good} of {len(worth)}; stages of less than a processor second are left out.",
        "",
    ]
    lines += ["| rows | machines | memory in all, GB | hours |", "|---" * 4 + "|"]
    for n in LARGER:
        machines, gigabytes, hours = projected(n, cases)
        lines.append(f"| {n:,} | {machines:,} | {gigabytes:,.0f} | {hours:,.1f} |")
    cores, memory = MACHINE["cores"], MACHINE["gigabytes"]
    lines += [
        "",
        f"This second table is a projection, not a measurement: machines of {cores} cores and {memory:.0f} GB, one "
        "worker for each core, as many machines as hold the rows, shards as large as the largest measured ones and "
        "their costs; as many "
        "vectors, columns and iterations as the largest of them had; rows that are fetched from other shards grow "
        "with the logarithm of the number of shards, over a network of 10 Gbit/s. Nothing of this size was run.",
    ]
    return "\n".join(lines) + "\n"


def main():
    with (RESULTS / "cluster.csv").open() as file:
        cases = cases_of(csv.DictReader(file))
    found = forecasts(cases)
    with (RESULTS / "cluster_model.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(found)
    (RESULTS / "cluster_model.md").write_text(table(found, cases))


if __name__ == "__main__":
    main()
