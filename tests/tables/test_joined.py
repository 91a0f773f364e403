"""Texts together with other columns."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from siis import SIISClassifier
from siis.tables import Recipe, Roles, read

WORDS = (["cat", "dog", "mouse", "fur"], ["stock", "bond", "market", "price"])


@pytest.fixture
def path(write):
    rng = np.random.default_rng(0)
    rows = [("body", "title", "salary", "town", "kind")]
    for i in range(90):
        body, title = (" ".join(rng.choice(WORDS[i % 2], k)) for k in (6, 2))
        rows.append((body, title, f"{40_000 + 20_000 * (i % 3) + rng.normal():.2f}", f"t{i % 3}", "abc"[i % 3]))
    return write(rows)


def test_texts_and_columns_weigh_the_same(path):
    data = read(path, Roles(label="kind", text="body"))
    n_words = len(data.recipe.encoder.words[0].terms)
    assert isinstance(data.X, sp.csr_array)
    words, others = data.X[:, :n_words].toarray(), data.X[:, n_words:].toarray()
    assert np.mean(np.sum(words**2, axis=1)) == pytest.approx(1.0)
    assert np.mean(np.sum(others**2, axis=1)) == pytest.approx(1.0)
    names = data.recipe.encoder.feature_names[n_words:]
    towns = sum(np.var(others[:, names.index(f"town=t{i}")]) for i in range(3))
    assert np.var(others[:, names.index("salary")]) == pytest.approx(towns)
    assert data.notes[0].startswith(
        "90 rows, texts with 8 different words, 1 column of numbers, 2 columns of categories"
    )
    assert "other columns are used as well as the texts; --text-only leaves them out" in data.notes
    assert data.texts[0].count(" ") == 5
    kinds = [(use.name, use.kind) for use in data.columns]
    assert kinds[0] == ("body", "text")
    assert dict(kinds) == {
        "body": "text",
        "title": "category",
        "salary": "number",
        "town": "category",
        "kind": "label",
    }


def test_the_columns_help(path):
    accuracy = {}
    for only in (True, False):
        data = read(path, Roles(label="kind", text=("body", "title"), text_only=only))
        y = data.labels.copy()
        y[30:] = None
        model = SIISClassifier(
            method="paper",
            solver="certified",
            n_neighbors=8,
            n_components=10,
            alpha=10.0,
            beta=1.0,
            laplacian="normalized",
        )
        model.fit(data.X, y)
        accuracy[only] = np.mean(model.transduction_ == data.labels)
    assert accuracy[False] > 0.9 > accuracy[True]


def test_several_texts_and_named_columns(path, write):
    roles = Roles(label="kind", text=("body", "title"), features=("salary",))
    data = read(path, roles)
    assert data.X.shape == (90, 8 + 8 + 1)
    assert data.texts[3].count("\n") == 1
    settings, arrays = data.recipe.to_plain()
    recipe = Recipe.from_plain(json.loads(json.dumps(settings)), arrays)
    assert abs(recipe.apply(path).X - data.X).max() == 0
    new = recipe.apply(write("title,body,salary\ncat,dog,40000\n", "new.csv"))
    assert new.X.shape == (1, 17)
    assert new.texts == ("dog\ncat",)
    alone = read(path, Roles(label="kind", text=("body", "title"), text_only=True))
    assert alone.X.shape == (90, 16)
    assert abs(Recipe.from_plain(*alone.recipe.to_plain()).apply(path).X - alone.X).max() == 0


def test_texts_alone_where_nothing_else_can_be_used(write):
    data = read(write("body,kind,one\ncat dog,a,1\ncat,b,1\nmouse,a,1\n"), Roles(label="kind", text="body"))
    assert data.X.shape == (3, 3)
    assert "left out, the same value everywhere: one" in data.notes
    assert not any("--text-only" in note for note in data.notes)
