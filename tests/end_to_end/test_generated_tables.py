"""Two hundred tables as people send them, each from a file to answers at the default."""

import numpy as np
import pytest

from siis.app.merged_labels import merge_checked
from siis.app.options import FitOptions
from siis.app.run import fit_data
from siis.tables import read
from tables.generated import make_table, write_table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(200))
def test_a_table_gets_an_answer(tmp_path, seed):
    columns, _, roles = make_table(seed)
    path = tmp_path / "table.csv"
    write_table(path, columns)
    data = read(path, roles)
    outcome = fit_data(data, merge_checked(data, {}), FitOptions(str(path)))
    P = outcome.model.label_distributions_
    assert P.shape == (len(data.ids), len(outcome.model.classes_))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)
    assert len(outcome.report.summary) > 1
