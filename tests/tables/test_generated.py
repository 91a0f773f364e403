"""Two hundred generated tables are read, whatever stands in them."""

import numpy as np
import pytest
import scipy.sparse as sp

from siis.tables import Recipe, Roles, read
from tables.generated import make_table, write_table


@pytest.mark.parametrize("tens", range(20))
def test_every_table_is_read(tmp_path, tens):
    for seed in range(10 * tens, 10 * tens + 10):
        columns, label, roles = make_table(seed)
        path = write_table(tmp_path / f"{seed}.csv", columns)
        data = read(path, roles)
        values = data.X.data if sp.issparse(data.X) else data.X
        assert data.X.shape[0] == len(columns[label]), seed
        assert data.X.shape[1] > 0, seed
        assert np.isfinite(values).all(), seed
        assert len({answer for answer in data.labels if answer is not None}) > 1, seed
        again = Recipe.from_plain(*data.recipe.to_plain()).apply(path, Roles(id=roles.id))
        assert abs(again.X - data.X).max() == 0, seed


def test_the_same_seed_gives_the_same_table():
    assert make_table(3) == make_table(3)
    assert make_table(3)[0] != make_table(4)[0]


def test_the_tables_differ():
    made = [make_table(seed) for seed in range(200)]
    n_rows = [len(columns[label]) for columns, label, _ in made]
    assert 20 <= min(n_rows) < 30
    assert 300 < max(n_rows) <= 400
    assert {len(set(map(str.casefold, columns[label]))) for columns, label, _ in made} >= set(range(2, 12))
    kinds = {name.split()[0] for columns, _, _ in made for name in columns}
    assert kinds >= {"money", "percent", "date", "stamp", "many", "counter", "constant", "remark", "unit", "id"}
