"""CSV files in and out, and the quickest fit, for tests of the command line."""

import csv

QUICK = ["--method", "paper", "--n-components", "20", "--quiet"]


def write_csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
