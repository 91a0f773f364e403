"""Networks from files give the features of their references, whatever company an example has."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

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
near = partial(pytest.approx, rel=1e-4, abs=1e-5)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def pictures_of(n, size=16):
    return write_pictures(Path("p"), n, size)


def refusal(encode, items, source="net.onnx", **settings):
    """The message where an encoder cannot be used: sentences on one line."""
    with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
        encode(items, EncoderChoice(source, **settings))
    return str(caught.value)


def three_means(*nodes, shape):
    """A network that gives the mean of each of three colours, after some other nodes."""
    last = helper.make_node("ReduceMean", [nodes[-1].output[0]], ["y"], axes=[2, 3], keepdims=0)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    save(
        model_of([*nodes, last], inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]),
        "net.onnx",
    )


@pytest.mark.parametrize("shape", [("n", 3, 16, 16), (4, 3, 16, 16), (1, 3, 16, 16)])
@pytest.mark.parametrize("pool", [True, False])
def test_images_equal_their_reference(shape, pool):
    K = image_model("net.onnx", shape=shape, pool=pool)
    paths, pictures = pictures_of(21)
    X = encode_images(paths, "net.onnx")
    assert X.dtype == np.float32
    assert near(image_features(scaled(pictures), K)) == X


def test_colours_last_are_seen_by_the_shape():
    three_means(helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), shape=["n", 16, 16, 3])
    paths, pictures = pictures_of(3)
    assert near(scaled(pictures).mean(axis=(2, 3))) == encode_images(paths, "net.onnx")


def test_scaling_of_options_then_of_the_file_then_of_imagenet():
    paths, pictures = pictures_of(3)
    K = kernels()

    def features(metadata=None, **options):
        image_model("net.onnx", K, metadata=metadata)
        return encode_images(paths, EncoderChoice("net.onnx", **options))

    half = image_features(scaled(pictures, 0.5, 0.25), K)
    assert features({"mean": "[0.5, 0.5, 0.5]", "std": "0.25"}) == near(half)
    assert features(mean=(0.5,), std=(0.25,)) == near(half)
    assert features({"mean": "0.9"}, mean=(0.5,), std=(0.25, 0.25, 0.25)) == near(half)
    whole = features({"Image.NominalPixelRange": "NominalRange_0_255"})
    assert whole == near(image_features(scaled(pictures, 0, 1 / 255), K))
    blue = features({"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": "Normalized_0_1"})
    assert blue == near(image_features(scaled(pictures[..., ::-1], 0, 1), K))
    for bad in ("x", "[1, 2]", '{"a": 1}', "[[1]]", "null"):
        image_model("net.onnx", K, metadata={"mean": bad})
        assert "metadata mean and std must be" in refusal(encode_images, paths)
    assert "must be positive" in refusal(encode_images, paths, std=(0.0,))


def test_whole_numbers_and_grey():
    paths, pictures = pictures_of(3)
    K = image_model("bytes.onnx", kind=TensorProto.UINT8)
    assert near(image_features(scaled(pictures, 0, 1 / 255), K)) == encode_images(paths, "bytes.onnx")
    K = image_model("grey.onnx", shape=("n", 1, 16, 16))
    grey = np.stack([np.asarray(Image.open(path).convert("L"))[..., None] for path in paths])
    assert near(image_features(scaled(grey, 0.449, 0.226), K)) == encode_images(paths, "grey.onnx")


def test_free_sizes_need_to_be_said():
    paths, pictures = pictures_of(2)
    K = image_model("net.onnx", shape=("n", 3, "h", "w"))
    assert "--encoder-size 224" in refusal(encode_images, paths)
    X = encode_images(paths, EncoderChoice("net.onnx", 16))
    assert near(image_features(scaled(pictures), K)) == X
    image_model("net.onnx", K, ("n", 3, "h", "w"), {"size": "16"})
    assert np.array_equal(encode_images(paths, "net.onnx"), X)
    image_model("net.onnx")
    assert "takes images of 16 pixels; --encoder-size says 32" in refusal(encode_images, paths, size=32)


def test_the_middle_of_a_picture_is_taken():
    image_model("net.onnx")
    paths, pictures = pictures_of(1)
    Image.fromarray(np.pad(pictures[0], ((0, 0), (10, 10), (0, 0)))).save("wide.png")
    one, two = encode_images([paths[0], "wide.png"], "net.onnx")
    assert two == near(one)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("inputs", [("input_ids", "attention_mask"), ("ids",)])
def test_texts_equal_their_reference(tmp_path, rank, inputs):
    E = text_model("net.onnx", rank=rank, inputs=inputs)
    tokenizer(tmp_path)
    assert near(text_features(TEXTS, E, mean=rank == 3)) == encode_texts(TEXTS, "net.onnx")


def test_long_texts_are_cut(tmp_path):
    tokenizer(tmp_path)
    E = text_model("net.onnx")
    assert near(text_features(TEXTS, E, 4)) == encode_texts(TEXTS, EncoderChoice("net.onnx", 4))
    text_model("net.onnx", shape=("n", 6))
    assert near(text_features(TEXTS, E, 6)) == encode_texts(TEXTS, "net.onnx")
    assert "takes 6 tokens" in refusal(encode_texts, TEXTS, size=7)


def test_a_text_without_tokens_is_a_row_of_zeros(tmp_path):
    E = text_model("net.onnx")
    tokenizer(tmp_path, special=False)
    X = encode_texts(["", "cat dog", " "], "net.onnx")
    assert (X[[0, 2]] == 0).all()
    assert X[1] == near(text_features(["cat dog"], E, special=False)[0])
    assert "something that the tokenizer knows" in refusal(encode_texts, ["  "])


def test_the_tokenizer_may_lie_elsewhere_but_not_nowhere(tmp_path):
    Path("onnx").mkdir()
    E = text_model("onnx/net.onnx")
    message = refusal(encode_texts, TEXTS, "onnx/net.onnx")
    assert "needs its tokenizer" in message
    assert "--tokenizer" in message
    tokenizer(tmp_path, name="other.json")
    X = encode_texts(TEXTS, EncoderChoice("onnx/net.onnx", tokenizer="other.json"))
    assert near(text_features(TEXTS, E)) == X
    tokenizer(tmp_path)
    assert np.array_equal(encode_texts(TEXTS, "onnx/net.onnx"), X)
    Path("tokenizer.json").write_text("{}")
    assert "must be a tokenizer" in refusal(encode_texts, TEXTS, "onnx/net.onnx")


def test_the_wrong_kind_of_network(tmp_path):
    paths, _ = pictures_of(1)
    tokenizer(tmp_path)
    image_model("image.onnx")
    image_model("many.onnx", kernels(5), ("n", 5, 16, 16))
    text_model("text.onnx", inputs=("input_ids",))
    text_model("more.onnx", inputs=("input_ids", "pixels"))
    Path("bad.onnx").write_bytes(b"\x08\x01")
    for source, settings, message in (
        ("text.onnx", {}, "of 4 dimensions"),
        ("more.onnx", {}, "must have one input"),
        ("many.onnx", {}, "3 colours (or 1)"),
        ("bad.onnx", {}, "must be an ONNX model"),
        ("none.onnx", {}, "no such file"),
        ("image.onnx", {"tokenizer": "t.json"}, "Leave --tokenizer out"),
    ):
        assert message in refusal(encode_images, paths, source, **settings)
    assert "of 2 dimensions" in refusal(encode_texts, TEXTS, "image.onnx")
    assert "found input_ids" in refusal(encode_texts, TEXTS, "more.onnx")
    assert "Leave --encoder-mean" in refusal(encode_texts, TEXTS, "text.onnx", mean=(0.5,))


def test_broken_pictures_and_features():
    image_model("net.onnx")
    paths, _ = pictures_of(3)
    paths[1].write_bytes(paths[1].read_bytes()[:60])
    assert "00001.png: must be an image" in refusal(encode_images, paths)
    assert "no such file" in refusal(encode_images, ["x.png"])
    image_model("net.onnx", np.full((2, 3, 4, 4), np.inf, dtype=np.float32))
    assert "must be finite" in refusal(encode_images, paths[:1])


def test_company_does_not_matter(tmp_path):
    text_model("net.onnx")
    tokenizer(tmp_path)
    encoder = load_encoder(EncoderChoice("net.onnx"), "texts")
    contents = [Content("", text.encode()) for text in TEXTS * 5]
    X = encoder.run(contents)
    for i in (0, 3, 20):
        assert encoder.run(contents[i : i + 1])[0] == pytest.approx(X[i], rel=1e-6)


def test_a_network_that_rounds_by_its_batch_gets_one_picture_at_a_time():
    quantized = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    three_means(quantized, helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]), shape=["n", 3, 16, 16])
    Image.new("RGB", (16, 16), (120, 115, 105)).save("dark.png")
    Image.new("RGB", (16, 16), (255, 0, 255)).save("light.png")
    encoder = load_encoder(EncoderChoice("net.onnx"), "images")
    contents = [Content("", Path(name).read_bytes()) for name in ("dark.png", "light.png")]
    assert np.array_equal(encoder.run(contents)[0], encoder.run(contents[:1])[0])


def test_memory_is_that_of_a_batch():
    """Four times as many pictures take no more, besides their features."""
    image_model("net.onnx", shape=("n", 3, 128, 128))
    paths, _ = pictures_of(128, size=128)
    encoder = load_encoder(EncoderChoice("net.onnx"), "images")

    def uncached(n):
        return encode_images(paths[:n], replace(encoder, digest=str(time.monotonic_ns())))

    few, many = (peak(partial(uncached, n))[1] for n in (32, 128))
    batch = 16 * 3 * 128 * 128 * 4
    assert few > batch, "the measure sees batches"
    assert many < few + 0.25 * batch


def test_choices_as_plain_data():
    choice = EncoderChoice("a.onnx", 224, (0.5,), (0.1, 0.2, 0.3), "t.json")
    assert EncoderChoice.from_plain(plain(choice)) == choice
    for change in ({"size": "x"}, {"mean": 1}, {"mean": ["x"]}, {"source": ""}, {"std": [-1.0]}, {"more": 1}):
        with pytest.raises(ValueError, match=r"\w"):
            EncoderChoice.from_plain({**plain(choice), **change})
    for bad in ({"size": 0}, {"size": 10**6}, {"mean": (1.0, 2.0)}, {"mean": (float("nan"),)}):
        with pytest.raises(ValueError, match="--encoder-"):
            EncoderChoice("a.onnx", **bad)
