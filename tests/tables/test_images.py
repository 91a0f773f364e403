"""Folders of images."""

import numpy as np
import pytest
from PIL import Image

from siis.tables import Roles, read

SIX = ("a/one.png", "a/two.jpg", "b/one.gif", "b/deep/x.bmp", "top.webp", "c.PNG")


@pytest.fixture
def folder(tmp_path):
    for shade, name in enumerate(SIX):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (40, 20), 40 * shade).save(path)
    (tmp_path / "pictures" / "._junk.png").write_bytes(b"junk")
    (tmp_path / "pictures" / ".cache").mkdir()
    (tmp_path / "pictures" / ".cache" / "hidden.png").write_bytes(b"junk")
    (tmp_path / "pictures" / "readme.txt").write_text("hello")
    return tmp_path / "pictures"


def test_sub_folders_are_labels(folder):
    data = read(folder, Roles(text=(), features=()))
    assert data.ids == tuple(sorted(SIX))
    assert dict(zip(data.ids, data.labels, strict=True)) == {
        "a/one.png": "a",
        "a/two.jpg": "a",
        "b/one.gif": "b",
        "b/deep/x.bmp": "b",
        "top.webp": None,
        "c.PNG": None,
    }
    assert data.images == tuple(folder / name for name in data.ids)
    assert data.X.shape == (6, 32 * 32)
    for name, row in zip(data.ids, data.X, strict=True):
        assert row == pytest.approx(40 * SIX.index(name) / 255, abs=0.02)
    assert data.notes == (
        "6 images, made grey and 32 x 32 pixels, 4 labelled, 2 classes",
        "the names of the sub-folders are the labels",
    )


def test_a_labels_file(folder, write):
    table = write("file,label,more\na/one.png,cat,1\n./a/two.jpg,,2\nb\\one.gif,dog,3\n", "l.csv")
    data = read(folder, Roles(labels_file=table))
    assert [(i, label) for i, label in zip(data.ids, data.labels, strict=True) if label] == [
        ("a/one.png", "cat"),
        ("b/one.gif", "dog"),
    ]
    assert "3 images not in l.csv: taken for unlabelled" in data.notes
    table.write_text("id,who,what\ntop.webp,x,y\n")
    data = read(folder, Roles(labels_file=table, annotators=("what", "who")))
    assert data.annotations[data.ids.index("top.webp")].tolist() == ["y", "x"]
    assert data.labels is None
    (folder / "labels.csv").write_text("file,label\ntop.webp,bird\n")
    data = read(folder, Roles())
    assert data.labels[data.ids.index("top.webp")] == "bird"
    assert "labels from column label of labels.csv" in data.notes


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("file,label\na/one.png,x\na/one.jpg,y\n", "row 2 names 'a/one.jpg', which is not there. Did you mean"),
        ("file,label\na/one.png,x\n./a/one.png,y\n", "'a/one.png' is named twice"),
        ("file,label\na/one.png,x\na/one.png,y\n", "ids must differ"),
        ("picture,label\na/one.png,x\n", "the column that names the images (file)"),
        ("file,lable\na/one.png,x\n", "Did you mean lable?"),
        ("file,label\na/one.png,\n", "at least one example must be labelled"),
    ],
)
def test_bad_labels_files(folder, write, refusal, content, part):
    message = refusal(folder, label=None, labels_file=write(content))
    assert part in message, message


def test_bad_folders(folder, tmp_path, refusal):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "must hold images" in refusal(empty, label=None)
    assert "neither a table of labels nor sub-folders" in refusal(folder / "a", label=None)
    assert "no table of labels" in refusal(folder, label="kind")
    assert "--text does not go with a folder" in refusal(folder, label=None, text="t")
    assert "--features does not go with a folder" in refusal(folder, label=None, features=("t",))
    for name in ("a/one.png", "a/two.jpg", "b/one.gif", "b/deep/x.bmp"):
        (folder / name).write_bytes(b"not an image")
    assert "at least one example must be labelled" in refusal(folder, label=None)
    for name in SIX:
        (folder / name).write_bytes(b"not an image")
    message = refusal(folder, label=None)
    assert "one.png: must be an image" in message


def test_broken_images_are_left_out(folder):
    whole = read(folder, Roles())
    kept = [i for i, name in enumerate(whole.ids) if name != "a/two.jpg"]
    for junk in (b"", b"not an image", (folder / "a" / "two.jpg").read_bytes()[:300]):
        (folder / "a" / "two.jpg").write_bytes(junk)
        data = read(folder, Roles())
        assert data.ids == tuple(whole.ids[i] for i in kept)
        assert data.images == tuple(whole.images[i] for i in kept)
        assert list(data.labels) == list(whole.labels[kept])
        assert np.array_equal(data.X, whole.X[kept])
        assert data.notes[0] == "5 images, made grey and 32 x 32 pixels, 3 labelled, 2 classes"
        assert "1 image left out, which cannot be read: 'a/two.jpg'. " in " / ".join(data.notes)
        new = whole.recipe.apply(folder)
        assert new.ids == data.ids
        assert np.array_equal(new.X, data.X)
        assert "1 image left out, which cannot be read: 'a/two.jpg'. " in " / ".join(new.notes)


def test_transparent_deep_and_turned_images(tmp_path):
    place = tmp_path / "x"
    place.mkdir()
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(place / "clear.png")
    Image.fromarray(np.full((8, 8), 257 * 100 + 50, dtype=np.uint16)).save(place / "deep.png")
    half = np.zeros((64, 64), dtype=np.uint8)
    half[:, 32:] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.fromarray(half).save(place / "turned.jpg", exif=exif)
    Image.fromarray(half).convert("P").save(place / "palette.png")
    data = read(tmp_path, Roles())
    rows = dict(zip(data.ids, data.X.reshape(-1, 32, 32), strict=True))
    assert (rows["x/clear.png"] == 1).all()
    assert rows["x/deep.png"] == pytest.approx(100 / 255)
    assert rows["x/palette.png"][:, 0].max() == 0
    assert rows["x/palette.png"][:, 31].min() == 1
    assert rows["x/turned.jpg"][0].max() < 0.1
    assert rows["x/turned.jpg"][31].min() > 0.9


def test_embeddings_of_images(folder, tmp_path):
    np.save(tmp_path / "e.npy", np.arange(12.0).reshape(6, 2))
    data = read(folder, Roles(embeddings=tmp_path / "e.npy"))
    assert data.X.shape == (6, 2)
    assert len(data.images) == 6
