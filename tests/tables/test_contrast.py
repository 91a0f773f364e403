"""In what examples of a table clearly differ."""

import numpy as np
import pyarrow as pa
import pytest

from siis.app.explain import compare_columns
from siis.app.report.shown import contrasts, differences
from siis.tables import Roles, read
from siis.tables.contrast import contrast


@pytest.mark.parametrize(
    "written",
    [
        lambda k: f"${k},000.50",
        lambda k: f"{k}%",
        lambda k: f"2024-01-{k + 1:02d}",
        lambda k: f"{k + 1}.1.2024",
        lambda k: "?" if k == 19 else str(k),
        lambda k: f"{k}e300",
    ],
)
def test_written_numbers_are_compared_as_numbers(written):
    found = contrast(pa.array([written(k) for k in range(20)]), ".", range(20))
    spread = np.std(np.arange(19 if written(19) == "?" else 20))
    for k in (0, 5, 9):
        for j in (k + 1, k + 5, k + 9):
            assert found.apart(k, j) == pytest.approx((j - k) / spread)
            assert found.differs(k, j) == (j - k > spread)
    if written(19) == "?":
        assert found.differs(0, 19)


def test_words():
    towns = contrast(pa.array(["Rome", "\\N", "", "Oslo"] * 10), ".", range(4))
    assert [towns.differs(0, j) for j in range(4)] == [False, True, True, True]
    assert not towns.differs(1, 2), "missing both"
    names = contrast(pa.array([f"name {'x' * k}" for k in range(40)]), ".", range(4))
    assert not names.differs(0, 1), "nearly all differ"
    yes = contrast(pa.array(["yes", "no", "Yes"] * 10), ".", range(3))
    assert [yes.differs(0, j) for j in range(3)] == [False, True, False]
    assert (towns.is_truth, yes.is_truth) == (False, True)


def test_the_same_marks_in_the_report_and_in_the_explanation(write):
    rows = [(f"{k},5", f"€ {1000 * k}", "ab"[k % 2], "xy"[k // 10]) for k in range(20)]
    content = "\n".join(["size;price;kind;label", *(";".join(row) for row in rows)])
    data = read(write(content + "\n"), Roles(label="label"))
    assert data.rows.decimal == ","
    near = [1, 8, 15]
    found = [differences(contrasts(data.rows, range(20)), 2, j) for j in near]
    extra = {
        "row_names": list(data.rows.names),
        "row_cells": data.rows.lines(100, 10**6),
        "row_decimal": ",",
        "recipe": None,
    }
    explained = {column.name: column.differs for column in compare_columns(extra, 2, near, [True] * 3)}
    marks = [[name for name, differs in explained.items() if differs[k]] for k in range(3)]
    assert [sorted(data.rows.names[k] for k in one) for one in found] == [sorted(one) for one in marks]
    assert sorted(marks[0]) == ["kind"]
    assert sorted(marks[1]) == ["price", "size"]
