"""Small pictures: small in pixels, and in bytes."""

import base64
import io

import numpy as np
from PIL import Image

from siis.app.thumbnails import LARGE, SIDE, data_uri, large_of, thumbnails_of


def opened(address):
    return Image.open(io.BytesIO(base64.b64decode(address.split(",", 1)[1])))


def test_photographs_become_jpegs_and_drawings_stay_exact(tmp_path):
    rng = np.random.default_rng(0)
    photo = Image.fromarray(rng.integers(0, 255, (200, 300, 3), dtype=np.uint8))
    drawing = Image.fromarray(np.kron(np.eye(4, dtype=np.uint8) * 255, np.ones((8, 8), dtype=np.uint8)))
    for name, image in (("photo.jpg", photo), ("drawing.png", drawing)):
        image.save(tmp_path / name)
    thumbnail = thumbnails_of((tmp_path / "photo.jpg", tmp_path / "drawing.png"))
    assert thumbnail(0).startswith("data:image/jpeg;base64,")
    assert len(thumbnail(0)) < 4 * SIDE * SIDE
    assert max(opened(thumbnail(0)).size) == SIDE
    assert thumbnail(1).startswith("data:image/png;base64,")
    assert np.array_equal(np.asarray(opened(thumbnail(1)).convert("L")), np.asarray(drawing))
    assert data_uri(drawing.copy()) == data_uri(drawing.copy())
    assert thumbnails_of(None) is None


def test_large_pictures_show_what_thumbnails_cannot(tmp_path):
    rng = np.random.default_rng(0)
    for name, side in (("photo.jpg", 700), ("icon.png", 40)):
        Image.fromarray(rng.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(tmp_path / name)
    large = large_of((tmp_path / "photo.jpg", tmp_path / "icon.png"))
    assert large(0).startswith("data:image/jpeg;base64,")
    assert opened(large(0)).size == (LARGE, LARGE)
    assert large(1) is None  # its thumbnail has every pixel
    assert large_of(None) is None
