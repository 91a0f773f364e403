"""Texts."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from plain import PlainSIIS
from siis import SIISClassifier
from siis.tables import Roles, read
from siis.tables.tfidf import pieces

WORDS = (["cat", "dog", "mouse", "fur", "tail", "paw", "bark"], ["stock", "bond", "market", "price", "trade", "bank"])
TEXT = Roles(label="kind", text="prose", text_only=True)


def prose(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[i % 2], 8)) for i in range(n)]


def sheet(write, texts):
    rows = [(text, ("pet", "money")[i % 2] if i < 40 else "", i) for i, text in enumerate(texts)]
    return write([("prose", "kind", "number"), *rows])


def test_the_same_as_scikit_learn(write):
    texts = prose(100)
    data = read(sheet(write, texts), TEXT)
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    assert isinstance(data.X, sp.csr_array)
    assert abs(data.X - expected).max() < 1e-15
    assert data.texts == tuple(texts)
    assert data.notes[0] == "100 rows, texts with 13 different words, 40 labelled, 2 classes"


def test_rare_words_of_many_texts_do_not_count(write):
    texts = prose(201)
    texts[3] += " zebra"
    assert "zebra" not in read(sheet(write, texts), TEXT).recipe.encoder.words[0].terms
    assert "zebra" in read(sheet(write, texts[:200]), TEXT).recipe.encoder.words[0].terms


def test_empty_texts_are_told_and_the_classifier_takes_them(write):
    texts = prose(80)
    texts[5], texts[50], texts[51] = "", "!", ""
    data = read(sheet(write, texts), TEXT)
    assert "3 texts have no known word in column prose: they have no features" in data.notes
    assert np.flatnonzero(np.diff(data.X.indptr) == 0).tolist() == [5, 50, 51]
    model = SIISClassifier(random_state=0).fit(data.X, data.labels)
    known = np.setdiff1d(np.arange(80), [5, 50, 51])
    assert np.mean(model.transduction_[known] == np.array(["pet", "money"])[known % 2]) > 0.95


def test_no_words(write, refusal):
    assert "found none. Name another column" in refusal(sheet(write, ["!", "a", ""] * 10), text="prose")
    message = refusal(sheet(write, [f"unique{i}" for i in range(300)]), text="prose")
    assert "that two of them share" in message


@pytest.mark.parametrize("text", ["number", "prose"])
def test_only_the_text_counts(write, text):
    path = sheet(write, prose(30))
    one = read(path, Roles(label="kind", text=text, text_only=True))
    assert one.texts is not None
    assert one.X.shape[1] == (13 if text == "prose" else 20)


def chinese(n):
    """Sentences without spaces, of two subjects."""
    rng = np.random.default_rng(0)
    words = (["小猫", "狗", "尾巴", "动物", "毛皮"], ["股票", "银行", "价格", "市场", "债券"])
    return ["".join(rng.choice(words[i % 2], 6)) + "。" for i in range(n)]


def test_languages_without_spaces_are_compared_by_neighbouring_letters(write):
    texts = chinese(80)
    data = read(sheet(write, texts), TEXT)
    encoder = data.recipe.encoder.words[0]
    assert encoder.is_unspaced
    assert {"股票", "股", "票", "银行"} <= set(encoder.terms)
    assert data.notes[0].startswith(f"80 rows, texts with {len(encoder.terms)} different words and pieces of them")
    model = PlainSIIS(n_components=20).fit(data.X, data.labels)
    assert np.mean(model.transduction_ == np.array(["pet", "money"])[np.arange(80) % 2]) > 0.95
    again = type(data.recipe).from_plain(*data.recipe.to_plain())
    new = again.apply(sheet(write, texts))
    assert abs(new.X - data.X).max() == 0


def test_pieces_of_texts():
    assert list(pieces("猫 Cats and 東京 a")) == ["猫", "cats", "and", "東", "京", "東京"]
    assert list(pieces("แมวดำ")) == ["แม", "มว", "วด", "ดำ", "แมว", "มวด", "วดำ"]
    assert list(pieces("plain words, 12 of them")) == ["plain", "words", "12", "of", "them"]


@pytest.mark.parametrize(
    ("text", "is_unspaced"),
    [
        ("こんにちは世界", True),
        ("ภาษาไทย", True),
        ("안녕하세요 세계", False),
        ("plain words with one 猫 in it", False),
    ],
)
def test_the_data_decide_whether_spaces_separate_words(write, text, is_unspaced):
    assert read(sheet(write, [text] * 30), TEXT).recipe.encoder.words[0].is_unspaced == is_unspaced
