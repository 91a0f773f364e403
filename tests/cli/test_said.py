"""What the command line says: once, truly, and with what to do."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from cli_case import QUICK, write_csv
from siis import SIISClassifier


def test_what_no_label_reaches_is_said_once(siis, tmp_path):
    ring = sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1])
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(sp.block_diag([ring, ring])))
    labels = ["x"] * 3 + [""] * 23 + ["y"] * 4 + [""] * 30
    write_csv(tmp_path / "in.csv", ["id", "label"], list(enumerate(labels)))
    fit = ("fit", tmp_path / "in.csv", "--label", "label", "--graph", tmp_path / "graph.npz")
    done = siis.ok(*fit, "--out", tmp_path / "out", *QUICK[:-1])
    sentence = "30 of 60 examples (50 %) are connected to no label: their classes are guesses. Label some of"
    assert sentence in done.stdout
    assert (done.stdout + done.stderr).count("connected to no label") == 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    before = page[: page.index('id="data"')]
    summary, trust = before.split('id="trust-title"')
    assert [part.count("connected to no label") for part in (summary, trust)] == [1, 1]
    assert sentence in summary
    assert sentence in trust


def test_results_that_are_not_there(siis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = siis("corrections", "fix.csv")
    assert "fix.csv: there is no such file" in done.stderr
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("1", "x")])
    assert "there is no such file. Name the folder of the results (--results DIR), or fit first" in siis.refused(
        "corrections", "fix.csv"
    )


def test_arguments_have_no_braces(siis):
    for command, usage in {"fit": "[OPTIONS] DATA...", "predict": "[OPTIONS] MODEL NEWDATA..."}.items():
        assert f" {command} {usage}\n" in siis(command, "--help").stdout


@pytest.fixture
def shops(tmp_path):
    rows = [(f"s{k}", f"${10 * k + 5}.50", ("north", "south")[k // 20] if k % 2 else "") for k in range(40)]
    write_csv(tmp_path / "shops.csv", ["shop_id", "price", "kind"], rows)
    return tmp_path / "shops.csv"


def test_another_currency_is_refused_with_what_the_fit_saw(siis, shops, tmp_path):
    done = siis.ok("fit", shops, "--label", "kind", "--id", "shop_id", "--out", tmp_path / "out", *QUICK)
    write_csv(tmp_path / "new.csv", ["shop_id", "price"], [("n1", "€ 5"), ("n2", "€ 300")])
    done = siis("predict", tmp_path / "out", tmp_path / "new.csv")
    assert done.exit_code == 1
    assert (
        "price must hold numbers in '$', or without a unit, as when the model was fitted; row 1 says" in done.stderr
    )


def test_corrections_may_have_the_columns_of_the_data(siis, shops, tmp_path):
    write_csv(tmp_path / "fix.csv", ["shop_id", "kind"], [("s0", "south")])
    fit = ("fit", shops, "--label", "kind", "--id", "shop_id", "--out", tmp_path / "out", *QUICK[:-1])
    done = siis.ok(*fit, "--corrections", tmp_path / "fix.csv")
    assert "1 checked label: verified" in done.stderr
    done = siis.ok("corrections", tmp_path / "fix.csv", "--results", tmp_path / "out")
    done = siis("fit", shops, "--label", "kind", "--id", "id", "--out", tmp_path / "out")
    assert "Did you mean shop_id?" in done.stderr


def test_one_column_is_not_called_columns():
    for n, found in ((1, "in column '1'"), (2, "in columns '1', '2'")):
        X = np.array([[1.0, *["word"] * n], [2.0, *["other"] * n]], dtype=object)
        with pytest.raises(ValueError, match=f"found text {found}"):
            SIISClassifier().fit(X, [0, 1])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals here")
def test_a_terminal_sees_something_before_the_libraries_are_loaded(table, tmp_path):
    """And, while it runs, its stages."""
    import pty  # noqa: PLC0415

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "siis", "fit", str(table[0]), "--id", "name", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(ours)
    said = shown.decode(errors="replace")
    assert said.startswith(f"reading {table[0]}")
    assert "labels: column label, by its name" in said.replace('"', "").replace("'", "")
    assert "members" in said
    assert "report" in said
