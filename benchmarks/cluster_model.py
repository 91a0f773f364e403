"""A cost model of fits on a cluster: one constant for each stage, from results/cluster.csv.

The seconds of a stage are a constant times its leading operations (docs/scale.md) over the number of workers. Each
size is forecast by constants of the others; with the constants of all sizes, machines, memory and hours of larger
fits are projected. Writes results/cluster_model.csv and cluster_model.md.
"""

import csv

import numpy as np

from protocol import RESULTS

COLUMNS = ("rows", "stage", "measured", "modelled", "ratio")
CLASSES, DIMENSIONS, NEIGHBORS, SAMPLED = 10, 64, 10, 20_000  # of benchmarks/cluster.py
WORKERS = 2
PROBES, CENTERS = (
    8,
    1000,
)  # cells in which a row is sought; centres of the kernel model, with which it is compared, too
MOST_CELLS = 1000  # a twentieth of the sample
SLIGHT = 1.0  # seconds: stages below are not worth a model
WANTED = 1.5
MACHINE = {"cores": 16, "gigabytes": 64.0}
USED, PROGRAM = 0.9, 0.35  # share of the memory, and gigabytes of each worker for the program itself
NETWORK = 1.25e9  # bytes that a machine sends in a second
LARGER = (10_000_000, 100_000_000, 1_000_000_000)

# leading operations of each stage, in all workers; what is measured of a run is its ``case``
LEADING = {
    "plan": lambda case: case["rows"],
    "sample": lambda case: 1.0,
    "cells": lambda case: SAMPLED * case["cells"] * DIMENSIONS,
    "partition": lambda case: case["rows"] * (case["cells"] + CENTERS) * DIMENSIONS,
    "neighbours": lambda case: PROBES * case["rows"] ** 2 / case["cells"] * DIMENSIONS,
    "graph": lambda case: case["rows"] * NEIGHBORS,
    "evidence": lambda case: case["edges"] * case["columns_evidence"],
    "basis": lambda case: (
        case["edges"] * case["columns_basis"] + case["rows"] * case["vectors"] * case["columns_basis"]
    ),
    "solve": lambda case: case["iterations"] * CLASSES * (3 * case["edges"] + 2 * case["rows"] * case["vectors"]),
    "calibration": lambda case: 1.0,
}
ON_CLIENT = ("plan", "sample", "cells", "calibration")


def cases_of(rows):
    """Fits on the cluster whose counts are known: size -> counts, seconds of the stages and peak of memory."""
    found = {}
    for row in rows:
        if row["engine"] != "cluster" or not row.get("columns_basis"):
            continue
        case = found.setdefault(int(row["rows"]), {"rows": int(row["rows"]), "seconds": {}})
        for name in ("edges", "halo", "vectors", "iterations", "cells", "columns_evidence", "columns_basis"):
            case[name] = float(row[name])
        if row["stage"] == "all":
            case["peak"] = float(row["peak_gb"])
        elif row["stage"] in LEADING:
            case["seconds"][row["stage"]] = float(row["seconds"])
    return dict(sorted(found.items()))


def constant(stage, cases):
    """Seconds for each operation of a stage: the geometric mean over the cases."""
    return float(np.exp(np.mean([np.log(max(c["seconds"][stage], 1e-3) / LEADING[stage](c)) for c in cases])))


def forecasts(cases):
    """Each size by the constants of the others: rows of the file."""
    found = []
    for n, case in cases.items():
        others = [other for m, other in cases.items() if m != n]
        if not others:
            continue
        modelled = {stage: constant(stage, others) * LEADING[stage](case) for stage in case["seconds"]}
        for stage, seconds in (*modelled.items(), ("all", sum(modelled.values()))):
            took = case["seconds"].get(stage, sum(case["seconds"].values()))
            found.append((n, stage, f"{took:.3g}", f"{seconds:.3g}", f"{seconds / took:.2f}"))
    return found


def projected(n, cases):
    """Machines, gigabytes in all, and hours of a fit of n rows."""
    largest = max(cases.values(), key=lambda case: case["rows"])
    per_row = WORKERS * (largest["peak"] - PROGRAM) / largest["rows"]
    each = USED * MACHINE["gigabytes"] / MACHINE["cores"] - PROGRAM
    machines = max(1, int(np.ceil(n * per_row / (each * MACHINE["cores"]))))
    case = {
        **largest,
        "rows": n,
        "cells": min(MOST_CELLS, n // 2_000),
        "edges": largest["edges"] / largest["rows"] * n,
    }
    seconds = 0.0
    for stage in largest["seconds"]:
        parts = WORKERS if stage not in ON_CLIENT else 1
        over = machines * MACHINE["cores"] if stage not in ON_CLIENT else 1
        seconds += constant(stage, list(cases.values())) * LEADING[stage](case) * parts / over
    halo = largest["halo"] / largest["rows"] * n * np.log2(machines * MACHINE["cores"])
    columns = largest["columns_evidence"] + largest["columns_basis"] + 2 * CLASSES * largest["iterations"]
    seconds += 4 * halo * columns / (machines * NETWORK)
    return machines, n * per_row + PROGRAM * machines * MACHINE["cores"], seconds / 3600


def table(found, cases):
    """Markdown: measured and modelled, then the projection."""
    if not found:
        return "Not measured yet: cluster.csv must hold fits of two sizes or more, with their counts.\n"
    lines = ["| rows | stage | measured, s | modelled by the other sizes, s | ratio |", "|---" * 5 + "|"]
    worth = [row for row in found if float(row[2]) >= SLIGHT]
    lines += [f"| {row[0]:,} | {' | '.join(row[1:])} |" for row in worth]
    good = sum(1 / WANTED <= float(row[4]) <= WANTED for row in worth)
    lines += [
        "",
        f"Within a factor of {WANTED}: {good} of {len(worth)}; stages of less than a second are left out.",
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
        "worker for each core, as many machines as hold the rows, the constants of all measured sizes; as many "
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
