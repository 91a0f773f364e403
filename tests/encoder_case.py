"""Small ONNX networks and tokenizers, made by hand, with what they must compute."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

OPSET = [helper.make_opsetid("", 17)]


def model_of(nodes, inputs, outputs, weights=(), metadata=None, opsets=None, functions=()):
    graph = helper.make_graph(nodes, "net", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in weights])
    model = helper.make_model(graph, opset_imports=opsets or OPSET, functions=list(functions), ir_version=8)
    if metadata:
        helper.set_model_props(model, metadata)
    return model


def kernels(colours=3, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(d, colours, 4, 4)).astype(np.float32)


def image_model(path, K=None, shape=("n", 3, 16, 16), metadata=None, pool=True, kind=TensorProto.FLOAT):
    """Patches of 4 x 4 times kernels, ReLU, and the mean over all places."""
    K = kernels(shape[1] if isinstance(shape[1], int) else 3) if K is None else K
    nodes = [] if kind == TensorProto.FLOAT else [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT)]
    nodes += [
        helper.make_node("Conv", ["x" if not nodes else "f", "K"], ["c"], strides=[4, 4]),
        helper.make_node("Relu", ["c"], ["r"]),
    ]
    out = ["n", K.shape[0], "h", "w"]
    if pool:
        nodes += [helper.make_node("ReduceMean", ["r"], ["y"], axes=[2, 3], keepdims=0)]
        out = ["n", K.shape[0]]
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    outputs = [helper.make_tensor_value_info("y" if pool else "r", TensorProto.FLOAT, out)]
    save(model_of(nodes, inputs, outputs, [("K", K)], metadata), str(path))
    return K


def image_features(pixels, K):
    """The same in NumPy: pixels of shape (n, colours, height, width)."""
    n, c, h, w = pixels.shape
    patches = pixels.reshape(n, c, h // 4, 4, w // 4, 4)
    found = np.einsum("nchiwj,dcij->ndhw", patches, K, dtype=np.float64)
    return np.maximum(found, 0).mean(axis=(2, 3))


IMAGENET = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])


def scaled(pictures, mean=IMAGENET[0], std=IMAGENET[1]):
    """uint8 (n, h, w, colours) -> (n, colours, h, w)."""
    return np.moveaxis((pictures / 255 - mean) / std, 3, 1)


def write_pictures(folder, n, size=16, seed=0):
    """Noise of two colours, in sub-folders a and b, as PNG."""
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 120, (n, size, size, 3), dtype=np.uint8)
    pictures[::2, ..., 0] += 120
    pictures[1::2, ..., 2] += 120
    paths = []
    for i, picture in enumerate(pictures):
        path = folder / "ab"[i % 2] / f"{i:05d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
        paths.append(path)
    return paths, pictures


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "dog", "tail", "bond", "stock", "bank", "the"]


def tokenizer(folder, special=True, name="tokenizer.json"):
    """Words split at spaces, between [CLS] and [SEP]."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if special:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    made.save(str(folder / name))


def text_model(path, d=5, rank=3, shape=("n", "t"), inputs=("input_ids", "attention_mask"), metadata=None):
    """A table of word vectors; rank 3: a row for each token; rank 2: their masked mean, computed inside."""
    E = np.random.default_rng(1).normal(size=(len(VOCABULARY), d)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["E", inputs[0]], ["v"])]
    out, shape_out = "v", ["n", "t", d]
    if "attention_mask" in inputs:
        nodes += [  # so that the mask is no idle input
            helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["m", "two"], ["m3"]),
            helper.make_node("Mul", ["v", "m3"], ["w"]),
        ]
        out = "w"
    if rank == 2:
        nodes += [helper.make_node("ReduceSum", [out, "one"], ["s"], keepdims=0)]
        out, shape_out = "s", ["n", d]
    ports = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs]
    outputs = [helper.make_tensor_value_info(out, TensorProto.FLOAT, shape_out)]
    weights = [("E", E), ("two", np.array([2])), ("one", np.array([1]))]
    save(model_of(nodes, ports, outputs, weights, metadata), str(path))
    return E


def text_features(texts, E, longest=256, special=True, mean=True):
    """The same in NumPy."""
    rows = []
    for text in texts:
        ids = [VOCABULARY.index(word) if word in VOCABULARY else 1 for word in text.split()]
        ids = [2, *ids[: longest - 2], 3] if special else ids[:longest]
        rows.append(E[ids].mean(axis=0) if mean else E[ids].sum(axis=0))
    return np.array(rows)


def plain(choice):
    return json.loads(json.dumps(choice.to_plain()))
