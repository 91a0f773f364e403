"""Networks from files give the features of their references, whatever company an example has."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from PIL import Image

from encoder_case import (
    image_features,
    image_model,
    kernels,
    model_of,
    plain,
    scaled,
    text_features,
    text_model,
    tokenizer,
    write_pictures,
)
from memory import peak
from siis.encode import EncoderChoice, encode_images, encode_texts, load_encoder
from siis.encode.encoder import Content

TEXTS = ["the cat", "dog tail the dog cat", "bond", "stock bank bond " * 20, "the dog", "unheard of", "cat"]


def refusal(work):
    with pytest.raises(ValueError, match=r"\.$") as caught:
        work()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("shape", [("n", 3, 16, 16), (4, 3, 16, 16), (1, 3, 16, 16)])
@pytest.mark.parametrize("pool", [True, False])
def test_images_equal_their_reference(tmp_path, shape, pool):
    K = image_model(tmp_path / "net.onnx", shape=shape, pool=pool)
    paths, pictures = write_pictures(tmp_path / "p", 21)
    X = encode_images(paths, str(tmp_path / "net.onnx"))
    assert X.dtype == np.float32
    assert pytest.approx(image_features(scaled(pictures), K), rel=1e-4, abs=1e-5) == X


def test_colours_last_would_be_seen_by_the_shape(tmp_path):
    """A network of rows x columns x colours, made of a transposition and the other one."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("ReduceMean", ["t"], ["y"], axes=[2, 3], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16, 16, 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
    save(model_of(nodes, inputs, outputs), str(tmp_path / "last.onnx"))
    paths, pictures = write_pictures(tmp_path / "p", 3)
    X = encode_images(paths, str(tmp_path / "last.onnx"))
    assert pytest.approx(scaled(pictures).mean(axis=(2, 3)), abs=1e-5) == X


def test_scaling_of_options_then_of_the_file_then_of_imagenet(tmp_path):
    paths, pictures = write_pictures(tmp_path / "p", 3)
    K = kernels()

    def features(metadata=None, **options):
        image_model(tmp_path / "net.onnx", K, metadata=metadata)
        return encode_images(paths, EncoderChoice(str(tmp_path / "net.onnx"), **options))

    half = image_features(scaled(pictures, 0.5, 0.25), K)
    assert features({"mean": "[0.5, 0.5, 0.5]", "std": "0.25"}) == pytest.approx(half, rel=1e-4)
    assert features(mean=(0.5,), std=(0.25,)) == pytest.approx(half, rel=1e-4)
    assert features({"mean": "0.9"}, mean=(0.5,), std=(0.25, 0.25, 0.25)) == pytest.approx(half, rel=1e-4)
    whole = features({"Image.NominalPixelRange": "NominalRange_0_255"})
    assert whole == pytest.approx(image_features(scaled(pictures, 0, 1 / 255), K), rel=1e-4)
    blue = features({"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": "Normalized_0_1"})
    assert blue == pytest.approx(image_features(scaled(pictures[..., ::-1], 0, 1), K), rel=1e-4)
    for bad in ("x", "[1, 2]", '{"a": 1}', "[[1]]", "null"):
        assert "metadata mean and std must be" in refusal(lambda bad=bad: features({"mean": bad}))
    assert "must be positive" in refusal(lambda: features(std=(0.0,)))


def test_whole_numbers_and_grey(tmp_path):
    paths, pictures = write_pictures(tmp_path / "p", 3)
    K = image_model(tmp_path / "bytes.onnx", kind=TensorProto.UINT8)
    X = encode_images(paths, str(tmp_path / "bytes.onnx"))
    assert pytest.approx(image_features(scaled(pictures, 0, 1 / 255), K), rel=1e-4) == X
    K = image_model(tmp_path / "grey.onnx", shape=("n", 1, 16, 16))
    grey = np.stack([np.asarray(Image.open(path).convert("L"))[..., None] for path in paths])
    X = encode_images(paths, str(tmp_path / "grey.onnx"))
    assert pytest.approx(image_features(scaled(grey, 0.449, 0.226), K), rel=1e-4) == X


def test_free_sizes_need_to_be_said(tmp_path):
    paths, pictures = write_pictures(tmp_path / "p", 2)
    K = image_model(tmp_path / "free.onnx", shape=("n", 3, "h", "w"))
    assert "--encoder-size 224" in refusal(lambda: encode_images(paths, str(tmp_path / "free.onnx")))
    X = encode_images(paths, EncoderChoice(str(tmp_path / "free.onnx"), 16))
    assert pytest.approx(image_features(scaled(pictures), K), rel=1e-4) == X
    image_model(tmp_path / "free.onnx", K, ("n", 3, "h", "w"), {"size": "16"})
    assert np.array_equal(encode_images(paths, str(tmp_path / "free.onnx")), X)
    image_model(tmp_path / "fixed.onnx")
    choice = EncoderChoice(str(tmp_path / "fixed.onnx"), 32)
    assert "takes images of 16 pixels; --encoder-size says 32" in refusal(lambda: encode_images(paths, choice))


def test_the_middle_of_a_picture_is_taken(tmp_path):
    image_model(tmp_path / "net.onnx")
    paths, pictures = write_pictures(tmp_path / "p", 1)
    wide = np.concatenate([np.zeros((16, 10, 3), np.uint8), pictures[0], np.zeros((16, 10, 3), np.uint8)], axis=1)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    one, two = encode_images([paths[0], tmp_path / "wide.png"], str(tmp_path / "net.onnx"))
    assert two == pytest.approx(one, rel=1e-4)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("inputs", [("input_ids", "attention_mask"), ("ids",)])
def test_texts_equal_their_reference(tmp_path, rank, inputs):
    E = text_model(tmp_path / "net.onnx", rank=rank, inputs=inputs)
    tokenizer(tmp_path)
    X = encode_texts(TEXTS, str(tmp_path / "net.onnx"))
    assert pytest.approx(text_features(TEXTS, E, mean=rank == 3), rel=1e-5) == X


def test_long_texts_are_cut(tmp_path):
    E = text_model(tmp_path / "net.onnx")
    tokenizer(tmp_path)
    X = encode_texts(TEXTS, EncoderChoice(str(tmp_path / "net.onnx"), 4))
    assert pytest.approx(text_features(TEXTS, E, 4), rel=1e-5) == X
    text_model(tmp_path / "net.onnx", shape=("n", 6))
    X = encode_texts(TEXTS, str(tmp_path / "net.onnx"))
    assert pytest.approx(text_features(TEXTS, E, 6), rel=1e-5) == X
    assert "takes 6 tokens" in refusal(lambda: encode_texts(TEXTS, EncoderChoice(str(tmp_path / "net.onnx"), 7)))


def test_a_text_without_tokens_is_a_row_of_zeros(tmp_path):
    E = text_model(tmp_path / "net.onnx")
    tokenizer(tmp_path, special=False)
    X = encode_texts(["", "cat dog", " "], str(tmp_path / "net.onnx"))
    assert (X[[0, 2]] == 0).all()
    assert X[1] == pytest.approx(text_features(["cat dog"], E, special=False)[0], rel=1e-5)
    assert "something that the tokenizer knows" in refusal(lambda: encode_texts(["  "], str(tmp_path / "net.onnx")))


def test_the_tokenizer_may_lie_elsewhere_but_not_nowhere(tmp_path):
    (tmp_path / "onnx").mkdir()
    path = tmp_path / "onnx" / "net.onnx"
    E = text_model(path)
    message = refusal(lambda: encode_texts(TEXTS, str(path)))
    assert "needs its tokenizer" in message
    assert "--tokenizer" in message
    tokenizer(tmp_path, name="other.json")
    X = encode_texts(TEXTS, EncoderChoice(str(path), tokenizer=str(tmp_path / "other.json")))
    assert pytest.approx(text_features(TEXTS, E), rel=1e-5) == X
    tokenizer(tmp_path)
    assert np.array_equal(encode_texts(TEXTS, str(path)), X)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert "must be a tokenizer" in refusal(lambda: encode_texts(TEXTS, str(path)))


def test_the_wrong_kind_of_network(tmp_path):
    paths, _ = write_pictures(tmp_path / "p", 1)
    image_model(tmp_path / "image.onnx")
    text_model(tmp_path / "text.onnx", inputs=("input_ids",))
    tokenizer(tmp_path)
    assert "of 4 dimensions" in refusal(lambda: encode_images(paths, str(tmp_path / "text.onnx")))
    assert "of 2 dimensions" in refusal(lambda: encode_texts(TEXTS, str(tmp_path / "image.onnx")))
    text_model(tmp_path / "more.onnx", inputs=("input_ids", "pixels"))
    assert "found input_ids" in refusal(lambda: encode_texts(TEXTS, str(tmp_path / "more.onnx")))
    assert "must have one input" in refusal(lambda: encode_images(paths, str(tmp_path / "more.onnx")))
    image_model(tmp_path / "many.onnx", kernels(5), ("n", 5, 16, 16))
    assert "3 colours (or 1)" in refusal(lambda: encode_images(paths, str(tmp_path / "many.onnx")))
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x01")
    assert "must be an ONNX model" in refusal(lambda: encode_images(paths, str(tmp_path / "bad.onnx")))
    assert "no such file" in refusal(lambda: encode_images(paths, str(tmp_path / "none.onnx")))
    choice = EncoderChoice(str(tmp_path / "image.onnx"), tokenizer="t.json")
    assert "Leave --tokenizer out" in refusal(lambda: encode_images(paths, choice))
    choice = EncoderChoice(str(tmp_path / "text.onnx"), mean=(0.5,))
    assert "Leave --encoder-mean" in refusal(lambda: encode_texts(TEXTS, choice))


def test_broken_pictures_and_features(tmp_path):
    image_model(tmp_path / "net.onnx")
    paths, _ = write_pictures(tmp_path / "p", 3)
    paths[1].write_bytes(paths[1].read_bytes()[:60])
    assert "00001.png: must be an image" in refusal(lambda: encode_images(paths, str(tmp_path / "net.onnx")))
    assert "no such file" in refusal(lambda: encode_images([tmp_path / "x.png"], str(tmp_path / "net.onnx")))
    image_model(tmp_path / "nan.onnx", np.full((2, 3, 4, 4), np.inf, dtype=np.float32))
    assert "must be finite" in refusal(lambda: encode_images(paths[:1], str(tmp_path / "nan.onnx")))


def test_company_does_not_matter(tmp_path):
    text_model(tmp_path / "net.onnx")
    tokenizer(tmp_path)
    encoder = load_encoder(EncoderChoice(str(tmp_path / "net.onnx")), "texts")
    contents = [Content("", text.encode()) for text in TEXTS * 5]
    X = encoder.run(contents)
    for i in (0, 3, 20):
        assert encoder.run(contents[i : i + 1])[0] == pytest.approx(X[i], rel=1e-6)


def test_a_network_that_rounds_by_its_batch_gets_one_picture_at_a_time(tmp_path):
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("ReduceMean", ["d"], ["y"], axes=[2, 3], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
    save(model_of(nodes, inputs, outputs), str(tmp_path / "net.onnx"))
    dark, light = tmp_path / "dark.png", tmp_path / "light.png"
    Image.new("RGB", (16, 16), (120, 115, 105)).save(dark)
    Image.new("RGB", (16, 16), (255, 0, 255)).save(light)
    encoder = load_encoder(EncoderChoice(str(tmp_path / "net.onnx")), "images")
    contents = [Content("", path.read_bytes()) for path in (dark, light)]
    assert np.array_equal(encoder.run(contents)[0], encoder.run(contents[:1])[0])


def test_memory_is_that_of_a_batch(tmp_path):
    """Four times as many pictures take no more, besides their features."""
    image_model(tmp_path / "net.onnx", shape=("n", 3, 128, 128))
    paths, _ = write_pictures(tmp_path / "p", 128, size=128)
    encoder = load_encoder(EncoderChoice(str(tmp_path / "net.onnx")), "images")
    used = []
    for n in (32, 128):
        few = paths[:n]
        _, top = peak(lambda few=few: _uncached(encoder, few))
        used.append(top)
    batch = 16 * 3 * 128 * 128 * 4
    assert used[0] > batch, "the measure sees batches"
    assert used[1] < used[0] + 0.25 * batch


def _uncached(encoder, paths):
    return encode_images(paths, replace(encoder, digest=f"{np.random.default_rng().integers(2**60)}"))


def test_choices_as_plain_data():
    choice = EncoderChoice("a.onnx", 224, (0.5,), (0.1, 0.2, 0.3), "t.json")
    assert EncoderChoice.from_plain(plain(choice)) == choice
    for change in ({"size": "x"}, {"mean": 1}, {"mean": ["x"]}, {"source": ""}, {"std": [-1.0]}, {"more": 1}):
        with pytest.raises(ValueError, match=r"\w"):
            EncoderChoice.from_plain({**plain(choice), **change})
    for bad in ({"size": 0}, {"size": 10**6}, {"mean": (1.0, 2.0)}, {"mean": (float("nan"),)}):
        with pytest.raises(ValueError, match="--encoder-"):
            EncoderChoice("a.onnx", **bad)
