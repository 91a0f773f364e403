"""A cost model of fits on a cluster: one constant for each stage and quantity, from results/cluster.csv.

Processor seconds of a stage are a constant times its leading operations (docs/scale.md) over the number of workers;
the memory of the larger worker is that of an idle one plus a constant times the leading bytes; what an iteration of
the program sends, a constant times the rows that are fetched. Each size is forecast by constants of the others; with
the constants of all sizes, machines, memory and hours of larger fits are projected. Writes results/cluster_model.csv
and cluster_model.md.
"""

import csv

import numpy as np

from protocol import RESULTS

COLUMNS = ("rows", "stage", "quantity", "measured", "modelled", "ratio")
COUNTS = ("edges", "halo", "vectors", "iterations", "cells", "columns_evidence", "columns_basis")
CLASSES, DIMENSIONS, NEIGHBORS, SAMPLED = 10, 64, 10, 20_000  # of benchmarks/cluster.py
WORKERS = 2
PROBES, CENTERS = (
    8,
    1000,
)  # cells in which a row is sought; centres of the kernel model, with which it is compared, too
MOST_CELLS = 1000  # a twentieth of the sample
BLOCK_COLUMNS = 16  # of the eigensolver where memory is short
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
    "graph": lambda case: case["rows"] * NEIGHBORS,
    "basis": lambda case: (
        case["edges"] * case["columns_basis"] + case["rows"] * case["vectors"] * case["columns_basis"]
    ),
    "evidence": lambda case: (case["edges"] + case["rows"] * min(case["vectors"], 64)) * case["columns_evidence"],
    "solve": lambda case: case["iterations"] * CLASSES * (3 * case["edges"] + 2 * case["rows"] * case["vectors"]),
    "calibration": lambda case: 1.0,
}
ON_CLIENT = ("plan", "sample", "cells", "calibration")
# leading bytes of a stage, in all workers
GIGABYTES = {
    "neighbours": lambda case: case["rows"] * (4 * DIMENSIONS + 8 * NEIGHBORS + 60),
    "graph": lambda case: 32 * case["rows"] * NEIGHBORS,
    "basis": lambda case: case["rows"] * (8 * case["vectors"] + 24 * BLOCK_COLUMNS) + 16 * case["edges"],
    "evidence": lambda case: case["rows"] * (50 * CLASSES + 4 * min(case["vectors"], 64)) + 24 * case["edges"],
    "solve": lambda case: case["rows"] * (4 * case["vectors"] + 50 * CLASSES) + 20 * case["edges"],
}
MEGABYTES = {"solve": lambda case: 8 * case["halo"] * CLASSES}  # that an iteration sends
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


def beyond(case, quantity):
    """What the constant does not stand for: the memory of an idle worker."""
    return case["idle"] if quantity == "gigabytes" else 0.0


def constant(quantity, stage, cases):
    """Of each leading operation or byte: the geometric mean over the cases."""
    used = [max(case[quantity][stage] - beyond(case, quantity), 1e-3) for case in cases]
    return float(np.exp(np.mean(np.log([u / LEADING[quantity][stage](c) for u, c in zip(used, cases, strict=True)]))))


def forecasts(cases):
    """Each size by the constants of the others: rows of the file."""
    found = []
    for n, case in cases.items():
        others = [other for m, other in cases.items() if m != n]
        if not others:
            continue
        for quantity, stages in LEADING.items():
            modelled = {
                stage: beyond(case, quantity) + constant(quantity, stage, others) * stages[stage](case)
                for stage in case[quantity]
            }
            pairs = [(stage, case[quantity][stage], value) for stage, value in modelled.items()]
            if quantity == "seconds":
                pairs.append(("all", sum(case[quantity].values()), sum(modelled.values())))
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
    case = {**largest, "rows": n, "cells": cells, "edges": edges}
    seconds = 0.0
    for stage in largest["seconds"]:
        parts = WORKERS if stage not in ON_CLIENT else 1
        over = machines * MACHINE["cores"] if stage not in ON_CLIENT else 1
        seconds += constant("seconds", stage, list(cases.values())) * SECONDS[stage](case) * parts / over
    halo = largest["halo"] / largest["rows"] * n * np.log2(machines * MACHINE["cores"])
    columns = largest["columns_evidence"] + largest["columns_basis"] + 2 * CLASSES * largest["iterations"]
    seconds += 4 * halo * columns / (machines * NETWORK)
    return machines, n * per_row + largest["idle"] * machines * MACHINE["cores"], seconds / 3600


def table(found, cases):
    """Markdown: measured and modelled, then the projection."""
    if not found:
        return "Not measured yet: cluster.csv must hold fits of two sizes or more, with their counts.\n"
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
