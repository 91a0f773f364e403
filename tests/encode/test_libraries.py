"""Models of timm and sentence-transformers, from folders that are made here: nothing is fetched."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from encoder_case import VOCABULARY, scaled, text_model, write_pictures
from siis.encode import EncoderChoice, encode_images, encode_texts
from siis.tables import Roles, read

pytestmark = pytest.mark.slow
needs_timm = pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed: pip install timm")
needs_sentences = pytest.mark.skipif(
    find_spec("sentence_transformers") is None,
    reason="sentence-transformers is not installed: pip install sentence-transformers",
)


@needs_timm
def test_a_model_of_timm(tmp_path):
    import timm  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=7).eval()
    (tmp_path / "net").mkdir()
    torch.save(model.state_dict(), tmp_path / "net" / "pytorch_model.bin")
    config = {"input_size": [3, 64, 64], "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.2, 0.2], "num_classes": 7}
    config |= {"classifier": "fc", "first_conv": "conv1.0"}
    content = {"architecture": "resnet10t", "num_classes": 7, "pretrained_cfg": config}
    (tmp_path / "net" / "config.json").write_text(json.dumps(content))
    paths, pictures = write_pictures(tmp_path / "p", 5, size=64)
    X = encode_images(paths, f"local-dir:{tmp_path / 'net'}")
    pixels = torch.from_numpy(scaled(pictures, [0.5, 0.4, 0.3], 0.2).astype(np.float32))
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(pixels), pre_logits=True).numpy()
    assert pytest.approx(expected, rel=1e-3, abs=1e-4) == X
    with pytest.raises(ValueError, match="a model of timm; no_such_net cannot be loaded"):
        encode_images(paths, "no_such_net")


@needs_sentences
def test_a_model_of_sentence_transformers(tmp_path):
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer  # noqa: PLC0415
    from transformers import BertConfig, BertModel, BertTokenizer  # noqa: PLC0415

    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY))
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    BertModel(config).save_pretrained(tmp_path / "bert")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    words = Transformer(str(tmp_path / "bert"), max_seq_length=16)
    made = SentenceTransformer(modules=[words, Pooling(8)], device="cpu")
    made.save(str(tmp_path / "net"))
    texts = ["the cat", "bond stock", "dog", "the cat"]
    X = encode_texts(texts, str(tmp_path / "net"))
    assert pytest.approx(made.encode(texts), rel=1e-4, abs=1e-5) == X
    assert np.array_equal(X[0], X[3])
    short = encode_texts(["the cat dog tail"], EncoderChoice(str(tmp_path / "net"), 4))
    assert short[0] == pytest.approx(X[0], rel=1e-3, abs=1e-4)
    with pytest.raises(ValueError, match="a model of sentence-transformers"):
        encode_texts(texts, str(tmp_path / "none"))


FAKE = """
import json
from pathlib import Path

import numpy as np


class Weights:
    def detach(self): return self
    def cpu(self): return self
    def float(self): return self
    def numpy(self): return np.ones((2, 2), dtype=np.float32)


class SentenceTransformer:
    def __init__(self, source, device):
        if not (Path(source) / "modules.json").is_file():
            raise OSError(f"{source} holds no modules.json")
        self.max_seq_length = json.loads((Path(source) / "modules.json").read_text())["tokens"]

    def state_dict(self): return {"weights": Weights()}

    def encode(self, texts, show_progress_bar): return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    def __repr__(self): return "SentenceTransformer()"
"""


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the library itself is tested above")
def test_a_folder_of_sentence_transformers_is_no_file(tmp_path, monkeypatch):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "sentence_transformers.py").write_text(FAKE)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # so that it is no module again at the end
    del sys.modules["sentence_transformers"]
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()
    with pytest.raises(
        ValueError, match=r"a model of sentence-transformers; './net' cannot be loaded \(\./net holds no"
    ):
        encode_texts(["a cat"], "./net")
    (tmp_path / "net" / "modules.json").write_text('{"tokens": 9}')
    for source in ("./net", str(tmp_path / "net"), "net"):
        assert encode_texts(["a cat", "dog"], source).tolist() == [[5, 2, 1], [3, 0, 1]]
    (tmp_path / "in.csv").write_text("said,label\n" + "".join(f"{'a ' * i}cat,{'xy'[i % 2]}\n" for i in range(12)))
    choice = EncoderChoice("./net")
    data = read(tmp_path / "in.csv", Roles(label="label", text="said", encoder=choice))
    assert data.X.shape == (12, 3)
    new = data.recipe.apply(tmp_path / "in.csv", Roles(encoder=EncoderChoice(str(tmp_path / "net"))))
    assert np.array_equal(new.X, data.X)
    with pytest.raises(ValueError, match=r"Name it again, with --encoder"):
        data.recipe.apply(tmp_path / "in.csv")


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the library itself reads the folder")
@pytest.mark.parametrize("name", ["net/model.onnx", "net/onnx/model.onnx"])
def test_a_folder_with_an_onnx_file_names_it_where_the_library_is_missing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    text_model(file)
    with pytest.raises(ValueError, match=f"Name the ONNX file in it: --encoder {name}."):
        encode_texts(["a cat"], "./net")
