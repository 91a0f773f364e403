"""From a CSV file of 100,000 rows and 64 columns to the report, against the fit alone; each in its own process.

Writes results/command_line.csv and command_line.md.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from protocol import RESULTS
from speed import task

ALONE = """
import sys, time, numpy as np
from siis import SIISClassifier
data = np.load(sys.argv[1])
started = time.perf_counter()
SIISClassifier(method=sys.argv[2], solver="certified").fit(data["X"], data["y"])
print(time.perf_counter() - started)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=["paper", "auto"])
    options = parser.parse_args()
    X, y, _, _ = task("generated", options.rows)
    records = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = ",".join(["label", *(f"x{k}" for k in range(X.shape[1]))])
        columns = np.column_stack([y.astype(float), X])
        np.savetxt(folder / "in.csv", columns, "%.6g", ",", header=header, comments="")
        text = (folder / "in.csv").read_text().replace("\n-1,", "\n,")  # unlabelled
        (folder / "in.csv").write_text(text)
        np.savez(folder / "in.npz", X=X.astype(np.float64), y=y)
        for method in options.methods:
            for repeat in range(options.repeats if method == "paper" else 1):
                alone = subprocess.run(
                    [sys.executable, "-c", ALONE, str(folder / "in.npz"), method],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                fit = float(alone.stdout)
                command = ["fit", folder / "in.csv", "--label", "label", "--out", folder / "out", "--quiet"]
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "siis", *map(str, command), "--method", method, "--solver", "certified"],
                    check=True,
                )
                whole = time.perf_counter() - started
                records.append((options.rows, X.shape[1], method, repeat, f"{fit:.4g}", f"{whole:.4g}"))
                print(records[-1], flush=True)
    with (RESULTS / "command_line.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rows", "columns", "method", "repeat", "fit_alone_s", "file_to_report_s"])
        writer.writerows(records)
    lines = ["| rows x columns | method | fit alone s | file to report s | ratio |", "|---|---|---|---|---|"]
    for rows, d, method, _, fit, whole in records:
        lines.append(f"| {rows:,} x {d} | {method} | {fit} | {whole} | {float(whole) / float(fit):.2f} |")
    (RESULTS / "command_line.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
