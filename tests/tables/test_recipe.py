"""Recipes: stored as plain data, and applied to new files."""

import copy
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from siis.tables import Recipe, Roles, read


def through_files(recipe):
    settings, arrays = recipe.to_plain()
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        return Recipe.from_plain(json.loads(json.dumps(settings)), dict(stored))


@pytest.fixture
def sources(tmp_path, write):
    """For each kind of recipe: the file to learn from, its roles, the file to apply it to."""
    rows = [("name", "height", "colour", "prose", "kind")]
    rng = np.random.default_rng(1)
    for i in range(60):
        height = "" if i == 7 else "inf" if i == 8 else repr(float(rng.normal()))
        colour = "" if i == 9 else f"c{i % 3}"
        rows.append((f"n{i}", height, colour, " ".join(rng.choice(["red", "blue", "salt", "sea"], 3)), "ab"[i % 2]))
    table = write(rows)
    holed = rng.normal(size=(60, 4))
    holed[3, 2] = np.nan
    np.savez(tmp_path / "x.npz", X=holed, y=np.arange(60) % 2)
    np.save(tmp_path / "e.npy", holed)
    for i in range(4):
        (tmp_path / "pictures" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (50, 70, 3), dtype=np.uint8)).save(
            tmp_path / "pictures" / "ab"[i % 2] / f"{i}.png"
        )
    return {
        "columns": (table, Roles(label="kind", id="name", features=("height", "colour")), table),
        "text": (table, Roles(label="kind", text="prose", text_only=True, id="name"), table),
        "joined": (table, Roles(label="kind", text="prose", id="name"), table),
        "arrays": (tmp_path / "x.npz", Roles(), tmp_path / "x.npz"),
        "embeddings": (table, Roles(label="kind", embeddings=tmp_path / "e.npy"), tmp_path / "e.npy"),
        "images": (tmp_path / "pictures", Roles(), tmp_path / "pictures"),
    }


KINDS = ("columns", "text", "joined", "arrays", "embeddings", "images")


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_file_gives_the_same_features(sources, kind):
    path, roles, again = sources[kind]
    data = read(path, roles)
    stored = through_files(data.recipe)
    for one, other in zip(data.recipe.to_plain(), stored.to_plain(), strict=True):
        assert list(one) == list(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)
    for recipe in (data.recipe, stored):
        new = recipe.apply(again, Roles(id=roles.id))
        assert np.array_equal(dense(new.X), dense(data.X))
        assert sp.issparse(new.X) == sp.issparse(data.X)
        assert new.ids == data.ids
        assert new.images == data.images
        assert new.texts == data.texts


def test_new_rows(sources, write):
    path, roles, _ = sources["columns"]
    recipe = read(path, roles).recipe
    median = recipe.encoder.parts[recipe.encoder.names.index("height")].median
    new = recipe.apply(write("extra,colour,height\n1,c1,0.5\n2,c9,\n3,,NA\n", "new.csv"))
    assert new.ids == ("1", "2", "3")
    assert new.X[:, 0].tolist() == [0.5, median, median]
    assert np.count_nonzero(new.X[:, 1:], axis=1).tolist() == [1, 0, 0]
    assert f"missing, filled with the median: height (2 cells, {median:.6g})" in new.notes
    assert "missing, no category there: colour (1 cell)" in new.notes
    unseen = "never seen when the model was fitted: colour (1 cell, c9 for one: no category there)"
    assert unseen in new.notes
    one = recipe.apply(write("colour,height\nc1,3\n", "one.csv"))
    assert one.X.shape == (1, new.X.shape[1])


def test_new_texts(sources, write):
    path, roles, _ = sources["text"]
    new = read(path, roles).recipe.apply(write("prose\nred no_progress sea\nunheard\n", "new.csv"))
    assert new.X.shape == (2, 4)
    assert new.X.nnz == 2
    assert "1 text has no known word in column prose: it has no features" in new.notes


@pytest.mark.parametrize(
    ("kind", "content", "part"),
    [
        ("columns", "colour\nc1\n", "a feature must be a column of the table; found none named height"),
        ("columns", "col\nc1\n", "found none named height, colour. There are: col. Add them"),
        ("columns", "colour,height\nc1,tall\n", "feature height must hold numbers; row 1 says tall"),
        ("text", "text\nred\n", "found none named prose"),
        ("arrays", "colour,height\nc1,1\n", "must be an NPZ or NPY file"),
        ("images", "colour,height\nc1,1\n", "the model was fitted to images; found no column"),
    ],
)
def test_files_that_do_not_fit(sources, write, kind, content, part):
    recipe = read(*sources[kind][:2]).recipe
    with pytest.raises(ValueError, match=r"new\.csv") as caught:
        recipe.apply(write(content, "new.csv"))
    assert part in str(caught.value)


def test_arrays_that_do_not_fit(sources, tmp_path):
    recipe = read(*sources["arrays"][:2]).recipe
    np.save(tmp_path / "n.npy", np.ones((3, 5)))
    with pytest.raises(ValueError, match="must have 4 features, as when the model was fitted; found 5"):
        recipe.apply(tmp_path / "n.npy")
    np.savez(tmp_path / "n.npz", X=np.ones((3, 4)), ids=np.array(["p", "q", "r"]))
    assert recipe.apply(tmp_path / "n.npz").ids == ("p", "q", "r")
    with pytest.raises(ValueError, match="no such file"):
        recipe.apply(tmp_path / "nothing.npz")
    for path, options in ((tmp_path / "n.npz", {"encoding": "latin-1"}), (tmp_path / "n.npz", {"id": "key"})):
        with pytest.raises(ValueError, match=r"and --encoding out|found none named key"):
            recipe.apply(path, Roles(**options))


def changes(settings, arrays):
    """Everything that may be wrong with a stored recipe, one at a time."""
    junk = (None, [], {}, 0, -1, 1e300, "x", True, [None], [[]], ["a", "a"], {"a": 1}, ["x"] * 100_001)
    for name, value in settings.items():
        yield {key: kept for key, kept in settings.items() if key != name}, arrays
        for other in junk:
            if other != value and not (type(other) is int and type(value) is int and other > 0):
                yield {**settings, name: other}, arrays
    for name in ("words", "parts"):
        for k, one in enumerate(settings.get(name, ())):
            bad = [{**one, field: other} for field in one for other in (None, {}, [None], [[]], {"a": 1})]
            for other in (*bad, {**one, "more": 1}, {}, None):
                yield {**settings, name: [*settings[name][:k], other, *settings[name][k + 1 :]]}, arrays
    yield {**settings, "more": 1}, arrays
    bad = (None, [1.0], np.array(["x"]), np.array(1.0), np.array([None]))
    for name, value in arrays.items():
        yield settings, {key: kept for key, kept in arrays.items() if key != name}
        others = (value[:0], value * np.nan, value + np.inf, -value if name.endswith("idf") else None)
        for other in (*bad, value.astype(np.float32), value[:, None], *(others if value.size else ())):
            yield settings, {**arrays, name: other}
        yield settings, {**arrays, name: np.append(value, 1.0)} if len(arrays) > 1 else None
    yield settings, {**arrays, "more": np.ones(1)}
    yield from ((None, arrays), ([], arrays), (settings, None), ({**settings, "kind": ["table"]}, arrays))


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_plain_data(sources, kind):
    settings, arrays = read(*sources[kind][:2]).recipe.to_plain()
    before = copy.deepcopy(settings)
    n = 0
    for bad_settings, bad_arrays in changes(settings, arrays):
        with pytest.raises(ValueError, match="fit and save the model again"):
            Recipe.from_plain(bad_settings, bad_arrays)
        n += 1
    assert n > 20
    assert settings == before


def test_a_recipe_cannot_be_changed(sources):
    for kind, name in (("text", "words.0.idf"), ("arrays", "medians"), ("joined", "scales")):
        _, arrays = read(*sources[kind][:2]).recipe.to_plain()
        with pytest.raises(ValueError, match="read-only"):
            arrays[name][0] = 1.0
