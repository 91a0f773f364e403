"""What a loader returns, and where it looks for files."""

import os
from dataclasses import dataclass
from pathlib import Path

from siis._types import Features, Ints
from siis.files import cache_folder

VARIABLE = "SIIS_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with its papers.

    Attributes
    ----------
    name : str
    X : array or csr_array of shape (n, d)
    y : ndarray of shape (n,)
        True classes, 0, 1, ...
    class_names : tuple of str
    description, origin, licence, citation : str
    """

    name: str
    X: Features
    y: Ints
    class_names: tuple[str, ...]
    description: str
    origin: str
    licence: str
    citation: str


def local_file(name: str, folder: str | Path | None = None) -> Path | None:
    """Path of a stored file in ``folder`` (where it must exist), else in $SIIS_DATA, else in the cache; else None."""
    named = folder or os.environ.get(VARIABLE)
    if named:
        path = Path(named) / name
        if not path.exists():
            how = "the folder given" if folder else f"the folder that {VARIABLE} names"
            raise FileNotFoundError(
                f"{how}, {named}, holds no {name}. Put it there, or leave the folder out to download."
            )
        return path
    path = cache_folder() / name
    return path if path.exists() else None


def no_network(name: str, origin: str, cause: Exception) -> RuntimeError:
    """Say what to do where a download fails."""
    return RuntimeError(
        f"{name} could not be downloaded from {origin} ({type(cause).__name__}: {cause}). With a network, try again; "
        f"without, put the file into a folder and name it in the environment variable {VARIABLE}."
    )
