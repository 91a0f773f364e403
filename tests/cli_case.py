"""The program run in this process, CSV files in and out, and the quickest fit."""

import csv

from typer.testing import CliRunner

from siis.app.cli.program import app

QUICK = ["--method", "paper", "--n-components", "20", "--quiet"]


def write_csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Program:
    """Runs the program with arguments; the result has exit_code, stdout, stderr."""

    def __call__(self, *args):
        return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)

    def ok(self, *args):
        """Run a command that must succeed."""
        done = self(*args)
        assert done.exit_code == 0, done.stderr
        return done

    def refused(self, *args):
        """Run a command that must end with one sentence, and return it."""
        done = self(*args)
        assert done.exit_code == 1
        assert done.stderr.startswith("siis: ")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr


SIIS = Program()
