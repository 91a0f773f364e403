"""Pictures that labelling tools name or hold: what is found, what is refused, what is compared."""

import base64
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from encoder_case import image_model
from siis.encode import EncoderChoice
from siis.tables import Roles, read
from siis.tables.tools.tool_file import Answer
from tool_case import annotation, write_json, write_lines

N = 12
TOPICS = [("red", "blue")[i % 2] for i in range(N)]


def picture(i, side=8):
    """A file of one colour with some noise."""
    pixels = np.random.default_rng(i).integers(0, 60, (side, side, 3), dtype=np.uint8)
    pixels[..., 0 if i % 2 == 0 else 2] += 150
    pixels[: side // 2] //= 1 + i % 2
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def data_uri(i):
    return "data:image/png;base64," + base64.b64encode(picture(i)).decode()


@pytest.fixture
def photos(tmp_path):
    """The same pictures as files, in two folders."""
    folder = tmp_path / "photos"
    for i in range(N):
        path = folder / "ab"[i % 2] / f"p {i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(i))
    return folder


def tasks_of(cells):
    return [
        {"id": 10 + i, "data": {"image": cell, "page": i}, "annotations": [annotation(TOPICS[i])] if i % 3 else []}
        for i, cell in enumerate(cells)
    ]


def wanted(photos):
    """The features of the same pictures in a folder."""
    data = read(photos, Roles())
    rows = [data.ids.index(f"{'ab'[i % 2]}/p {i}.png") for i in range(N)]
    return data.X[rows]


@pytest.mark.parametrize(
    "form",
    [
        "/data/local-files/?d=photos/{folder}/p%20{i}.png",
        "/data/upload/{folder}/p {i}.png",
        "https://example.org/some/{folder}/p%20{i}.png?size=2",
        "s3://bucket/{folder}/p {i}.png",
        "{folder}\\p {i}.png",
        "{base}/{folder}/p {i}.png",
    ],
)
def test_pictures_that_label_studio_names(tmp_path, photos, form):
    cells = [form.format(folder="ab"[i % 2], i=i, base=photos) for i in range(N)]
    path = write_json(tmp_path / "export.json", tasks_of(cells))
    data = read(path, Roles(image_folder=photos))
    assert np.array_equal(data.X, wanted(photos))
    assert data.images[3] == photos / "b" / "p 3.png"
    assert data.ids[0] == "10"
    assert data.labels[:3].tolist() == [None, "blue", "red"]
    kinds = {use.name: use.kind for use in data.columns}
    assert kinds["image"] == "image"
    assert kinds["page"] == "left out"
    assert any("images: column image" in note for note in data.notes)


def test_pictures_in_the_cells(tmp_path, photos):
    path = write_json(tmp_path / "export.json", tasks_of([data_uri(i) for i in range(N)]))
    data = read(path, Roles())
    assert np.array_equal(data.X, wanted(photos))
    assert data.images[2].read_bytes() == picture(2)
    assert "image" not in data.rows.names, "no report shows the text of an image"
    new = data.recipe.apply(path)
    assert np.array_equal(new.X, data.X)
    assert np.array_equal(data.recipe.apply(photos).X.shape, data.X.shape)


def test_pictures_with_an_encoder(tmp_path, photos, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    image_model(tmp_path / "net.onnx")
    choice = EncoderChoice(str(tmp_path / "net.onnx"))
    inside = read(write_json(tmp_path / "a.json", tasks_of([data_uri(i) for i in range(N)])), Roles(encoder=choice))
    cells = [f"/data/upload/1/{'ab'[i % 2]}/p {i}.png" for i in range(N)]
    named = read(write_json(tmp_path / "b.json", tasks_of(cells)), Roles(encoder=choice, image_folder=photos))
    folder = read(photos, Roles(encoder=choice))
    rows = [folder.ids.index(f"{'ab'[i % 2]}/p {i}.png") for i in range(N)]
    assert np.array_equal(inside.X, folder.X[rows])
    assert np.array_equal(named.X, folder.X[rows])
    new = named.recipe.apply(tmp_path / "a.json")
    assert np.array_equal(new.X, folder.X[rows])


def test_pictures_of_prodigy(tmp_path, photos):
    lines = [
        {
            "image": data_uri(i),
            "text": f"p {i}",
            "path": f"/home/ann/p {i}.png",
            "meta": {"file": f"p {i}.png"},
            "_input_hash": i,
            "options": [{"id": "red"}, {"id": "blue"}],
            "accept": [TOPICS[i]],
            "answer": "accept",
        }
        for i in range(N)
    ]
    data = read(write_lines(tmp_path / "db.jsonl", lines), Roles())
    assert np.array_equal(data.X, wanted(photos))
    assert data.labels.tolist() == TOPICS
    words = read(tmp_path / "db.jsonl", Roles(text="text"))
    assert words.images is None, "as the user wishes"


def hugging_face(kind="Image", **more):
    features = {"image": {"_type": kind}, "label": {"names": ["red", "blue"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    cells = [{"bytes": picture(i), "path": f"p {i}.png"} for i in range(N)]
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {"image": pa.array(cells, struct), "label": [i % 2 for i in range(N)], **more}
    return pa.table(columns).replace_schema_metadata(metadata)


def test_pictures_of_hugging_face(tmp_path, photos):
    pq.write_table(hugging_face(), tmp_path / "train.parquet")
    data = read(tmp_path / "train.parquet", Roles())
    assert np.array_equal(data.X, wanted(photos))
    assert data.labels.tolist() == TOPICS


def write_stream(path, table):
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


def test_a_folder_of_save_to_disk(tmp_path, photos, refusal):
    for split in ("train", "test"):
        folder = tmp_path / "set" / split
        folder.mkdir(parents=True)
        names = [f"data-0000{k}-of-00002.arrow" for k in range(2)]
        write_stream(folder / names[0], hugging_face()[:5])
        write_stream(folder / names[1], hugging_face()[5:])
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
        (folder / "dataset_info.json").write_text("{}")
    (tmp_path / "set" / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    data = read(tmp_path / "set" / "train", Roles())
    assert np.array_equal(data.X, wanted(photos))
    assert data.labels.tolist() == TOPICS
    assert "one split must be chosen; found train, test" in refusal(tmp_path / "set", label=None)
    (tmp_path / "set" / "train" / "data-00001-of-00002.arrow").unlink()
    assert "there is no such file, though state.json names it" in refusal(tmp_path / "set" / "train", label=None)
    (tmp_path / "set" / "train" / "state.json").write_text("{")
    assert "must name the _data_files of a data set" in refusal(tmp_path / "set" / "train", label=None)


def test_shards_of_parquet(tmp_path, photos, refusal):
    for folder in (tmp_path / "set", tmp_path / "hub" / "data"):
        folder.mkdir(parents=True)
        pq.write_table(hugging_face()[:5], folder / "train-00000-of-00002.parquet")
        pq.write_table(hugging_face()[5:], folder / "train-00001-of-00002-0123abc.parquet")
    data = read(tmp_path / "set", Roles())
    assert np.array_equal(data.X, wanted(photos))
    assert np.array_equal(read(tmp_path / "hub", Roles()).X, data.X)
    named = read(tmp_path / "set" / "train-*.parquet", Roles())
    assert np.array_equal(named.X, data.X)
    assert named.labels.tolist() == TOPICS
    answers = [Answer("red", 0.9, None, False)] * N
    assert list(named.written_back(answers)) == ["answers.parquet"]
    pq.write_table(hugging_face(), tmp_path / "hub" / "data" / "test-00000-of-00001.parquet")
    assert "one split must be chosen; found test, train" in refusal(tmp_path / "hub", label=None)
    (tmp_path / "set" / "train-00000-of-00002.parquet").unlink()
    assert "must hold all shards of a data set; found 1 shard of 2" in refusal(tmp_path / "set", label=None)
    (tmp_path / "set" / "train-00001-of-00002-0123abc.parquet").rename(tmp_path / "set" / "a.parquet")
    pq.write_table(pa.table({"label": ["red"]}), tmp_path / "set" / "b.parquet")
    assert "must be files of the same columns" in refusal(tmp_path / "set", label=None)


def test_sounds_are_no_pictures(tmp_path, refusal):
    sounds = [{"bytes": b"RIFX", "path": f"{i}.wav"} for i in range(N)]
    pq.write_table(hugging_face("Audio", image=pa.array(sounds)), tmp_path / "a.parquet")
    assert "at least one column must be a feature" in refusal(tmp_path / "a.parquet", label="label")


def test_a_table_that_names_pictures(write, photos, refusal):
    rows = [(f"{'ab'[i % 2]}/p {i}.png", i % 4, TOPICS[i] if i % 3 else "") for i in range(N)]
    path = write([("photo", "page", "label"), *rows])
    data = read(path, Roles(image="photo", image_folder=photos))
    assert np.array_equal(data.X, wanted(photos))
    assert data.rows.names == ("photo", "page")
    plain = read(path, Roles())
    assert "left out, images (--image compares by them): photo" in "; ".join(plain.notes)
    assert "name it with --image" in refusal(path, label=None, image_folder=photos).lower()
    for other in ({"text": "photo"}, {"features": ("page",)}):
        assert "compared in one way; found" in refusal(path, label=None, image="photo", **other)
    assert "must have no other role" in refusal(path, label="label", image="label")
    assert "there is none" in refusal(path, label=None, image="photo", image_folder=photos / "none")


def test_pictures_that_are_not_there(tmp_path, photos, refusal):
    cells = [f"/data/upload/1/x-{i}.jpg" for i in range(N)]
    path = write_json(tmp_path / "export.json", tasks_of(cells))
    said = refusal(path, label=None)
    assert "12 rows of 12 have none in" in said
    assert "the first is row 1, which is '/data/upload/1/x-0.jpg'" in said
    assert "--image-folder" in said
    assert read(path, Roles(features=("page",))).images is None
    found = tasks_of([data_uri(i) for i in range(N)])
    found[4]["data"]["image"] = None
    assert "the first is row 5, which is empty" in refusal(write_json(path, found), label=None)
    found[4]["data"]["image"] = "data:image/png;base64,AA=A"
    assert "row 5, column image: an image in a cell must be a data URI" in refusal(
        write_json(path, found), label=None
    )
    found[4]["data"]["image"] = "data:image/png;base64,AAAA"
    assert "row 5, column image: must be an image but cannot be read as one" in refusal(
        write_json(path, found), label=None
    )


@pytest.mark.parametrize("cell", ["http://[bad/x.png", "a" * 5000 + ".png", "x\0y.png", "../../x.png", "?d=.png"])
def test_names_that_no_file_can_have(tmp_path, refusal, cell):
    path = write_json(tmp_path / "export.json", tasks_of([cell] * N))
    assert "12 rows of 12 have none" in refusal(path, label=None)


def test_texts_with_addresses_that_are_none(write):
    rows = [(f"see http://[{i} and some more words?", TOPICS[i]) for i in range(N)]
    assert read(write([("words", "label"), *rows]), Roles(text="words", features=None)).X.shape[0] == N
    rows = [(f"http://[{i}", i % 5, TOPICS[i]) for i in range(N)]
    assert read(write([("words", "number", "label"), *rows]), Roles()).X.shape[0] == N


def test_names_that_lead_to_one_file(tmp_path, photos, refusal):
    (photos / "p 0.png").write_bytes(picture(0))
    cells = [f"x{i}/p 0.png" for i in range(N)]
    path = write_json(tmp_path / "export.json", tasks_of(cells))
    assert "different names must be different images" in refusal(path, label=None, image_folder=photos)


def test_texts_with_pictures_that_are_elsewhere(tmp_path):
    lines = [
        {"text": f"some words of a {topic} thing", "photo": f"https://example.org/{i}.jpg", "label": topic}
        for i, topic in enumerate(TOPICS)
    ]
    data = read(write_lines(tmp_path / "shop.jsonl", lines), Roles())
    assert data.images is None
    assert data.texts[0] == lines[0]["text"]
    assert any("images of column photo not found; --image-folder names their folder" in note for note in data.notes)


def test_two_columns_of_pictures(tmp_path, refusal):
    found = tasks_of([data_uri(i) for i in range(N)])
    for i, task in enumerate(found):
        task["data"]["other"] = data_uri(N - i)
    path = write_json(tmp_path / "export.json", found)
    assert "one column of images must be chosen; found 2: image, other" in refusal(path, label=None)
    assert read(path, Roles(image="other")).images[1].read_bytes() == picture(N - 1)


def test_pictures_beside_embeddings(tmp_path, photos):
    cells = [f"{'ab'[i % 2]}/p {i}.png" for i in range(N)]
    path = write_json(tmp_path / "export.json", tasks_of(cells))
    np.save(tmp_path / "vectors.npy", np.arange(2.0 * N).reshape(N, 2))
    roles = Roles(embeddings=tmp_path / "vectors.npy")
    assert read(path, roles).images is None
    shown = read(path, Roles(embeddings=tmp_path / "vectors.npy", image="image", image_folder=photos))
    assert shown.X.shape == (N, 2)
    assert shown.images[0] == photos / "a" / "p 0.png"
