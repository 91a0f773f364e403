"""Small files of every kind."""

import csv

import numpy as np
import pytest

from siis.tables import Roles, read

COLOURS = ("red", "green", "blue", "grey")


def rows_of(n=40):
    """Two numeric columns, four colours, a label for every second row."""
    rng = np.random.default_rng(3)
    for i in range(n):
        yield (
            f"{i + 1:03d}",
            f"{rng.normal():.4f}",
            str(i % 7),
            COLOURS[i % 4],
            ("cat", "dog")[i % 3 == 0] if i % 2 else "",
        )


@pytest.fixture
def write(tmp_path):
    """Write a CSV from rows, text or bytes, and return its path."""

    def write(content, name="data.csv", **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_bytes(content.encode())
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, **options).writerows(content)
        return path

    return write


@pytest.fixture
def animals(write):
    return write([("key", "height", "count", "colour", "kind"), *rows_of()])


@pytest.fixture
def refusal():
    """The sentence with which a file is refused."""

    def refusal(path, **roles):
        with pytest.raises(ValueError, match=r"\.$") as caught:
            read(path, Roles(**{"label": "kind", **roles}))
        assert type(caught.value) is ValueError, "a library's own error came through"
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        message = str(caught.value)
        assert "\n" not in message
        assert message.isprintable()
        return message

    return refusal
