"""Recipes with an encoder: plain data that are checked, and the same features again."""

import copy
import json

import numpy as np
import pytest

from encoder_case import image_model, text_features, text_model, tokenizer, write_pictures
from siis.encode import EncoderChoice
from siis.tables import Recipe, Roles, TableEncoder, read

JUNK = (None, [], {}, 0, -1, 1e300, "x", True, [None], {"a": 1})


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def sources(tmp_path, write):
    image_model(tmp_path / "image.onnx")
    text_model(tmp_path / "text.onnx")
    tokenizer(tmp_path)
    write_pictures(tmp_path / "p", 6)
    rows = [
        (f"{'cat dog' if i % 2 else 'bond the stock'} {'bank ' * (i % 5)}", i % 7, "ab"[i % 2]) for i in range(30)
    ]
    table = write([("said", "stars", "kind"), *rows])
    image, text = EncoderChoice(str(tmp_path / "image.onnx")), EncoderChoice(str(tmp_path / "text.onnx"))
    return {
        "images": (tmp_path / "p", Roles(encoder=image)),
        "text": (table, Roles(label="kind", text="said", text_only=True, encoder=text)),
        "joined": (table, Roles(label="kind", text="said", encoder=text)),
    }


@pytest.mark.parametrize("kind", ["images", "text", "joined"])
def test_the_same_features_again(sources, kind):
    path, roles = sources[kind]
    data = read(path, roles)
    settings, arrays = data.recipe.to_plain()
    again = Recipe.from_plain(json.loads(json.dumps(settings)), arrays)
    assert isinstance(data.X, np.ndarray)
    assert np.array_equal(again.apply(path).X, data.X)
    assert again.to_plain()[0] == settings
    assert again.encoder.n_features == data.X.shape[1]


def test_texts_have_unit_length(sources):
    path, roles = sources["text"]
    assert np.linalg.norm(read(path, roles).X, axis=1) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["images", "text", "joined"])
def test_hostile_plain_data(sources, kind):
    settings, arrays = read(*sources[kind]).recipe.to_plain()
    holder = settings if kind == "images" else settings["words"][0]
    for place in (holder, holder["encoder"], holder["encoder"]["choice"]):
        for name, value in list(place.items()):
            for junk in JUNK:
                is_fine = name in ("column", "source", "tokenizer") and junk == "x"
                is_fine |= name in ("size", "mean", "std", "tokenizer") and junk is None
                if junk == value or is_fine or name in ("kind", "version"):
                    continue
                place[name] = junk
                if kind == "images" or place is not holder or name != "encoder":
                    with pytest.raises(ValueError, match=r"fit and save the model again|no choice"):
                        Recipe.from_plain(copy.deepcopy(settings), arrays)
            place[name] = value
        place["more"] = 1
        with pytest.raises(ValueError, match="fit and save the model again"):
            Recipe.from_plain(settings, arrays)
        del place["more"]
    Recipe.from_plain(settings, arrays)


def test_a_library_is_not_asked_for_what_a_model_file_names(sources):
    path, roles = sources["images"]
    settings, arrays = read(path, roles).recipe.to_plain()
    settings["encoder"]["choice"]["source"] = "hf-hub:somebody/something"
    with pytest.raises(ValueError, match=r"of a library. Name it again, with --encoder"):
        Recipe.from_plain(settings, arrays).apply(path)


def test_data_frames(tmp_path):
    E = text_model(tmp_path / "text.onnx")
    tokenizer(tmp_path)
    texts = ["the cat", "dog tail", "bond stock bank", "cat", "dog"]
    encoder = TableEncoder(text="said", text_only=True, encoder=str(tmp_path / "text.onnx"))
    X = encoder.fit_transform({"said": texts})
    expected = text_features(texts, E)
    assert pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), rel=1e-5) == X
    assert np.array_equal(encoder.transform({"said": texts}), X)
    assert encoder.get_feature_names_out().tolist() == [f"said: {k}" for k in range(5)]
    with pytest.raises(ValueError, match="goes with columns of texts"):
        TableEncoder(encoder="x.onnx").fit({"a": [1, 2, 3]})
