"""Loaders of the paper's three real data sets."""

import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from siis._types import Features, Floats, Ints
from siis.files import cache_folder, write_file, write_files

VARIABLE = "SIIS_DATA"
COIL_URL = "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip"
# SHA-256 over the sorted SHA-256 digests of the 1440 images' 4 x 4 block sums: the content, in no order
COIL_CONTENT = "bd246633cb3caa95bd851f61b0c9606b1ee185a2e6ad95a984e5bcaf2fc846aa"
RCV1_TOPICS = ("C15", "ECAT", "GCAT", "MCAT")
RCV1_SIZES = (2022, 2064, 2901, 2638)


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


def load_coil20(folder: str | Path | None = None) -> Dataset:
    """Load COIL-20: 1440 grey images of 20 objects from 72 angles, 32 x 32 pixels in 0..1.

    The 32 x 32 images are the means of 4 x 4 blocks of the 128 x 128 originals. From ``folder`` or SIIS_DATA
    (``coil20.npz``), else the user's cache, else a download from Columbia University, checked by content.

    Parameters
    ----------
    folder : path, optional

    Returns
    -------
    Dataset
        X of shape (1440, 1024).
    """
    path = local_file("coil20.npz", folder) or _fetch_coil20()
    X, y = _arrays(path)
    return Dataset(
        "COIL-20",
        X,
        y,
        tuple(f"object {k + 1}" for k in range(20)),
        "Grey images of 20 objects on a turntable, 72 angles each, 32 x 32 block means of the 128 x 128 originals.",
        "https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
        "free for research; see the origin",
        "S. A. Nene, S. K. Nayar, H. Murase, Columbia Object Image Library (COIL-20), CUCS-005-96, 1996.",
    )


def load_isolet(folder: str | Path | None = None) -> Dataset:
    """Load ISOLET: 7797 recordings of letters, 617 features, 26 classes.

    From ``folder`` or SIIS_DATA (``isolet.npz``), else the user's cache, else OpenML.

    Parameters
    ----------
    folder : path, optional

    Returns
    -------
    Dataset
        X of shape (7797, 617).
    """
    path = local_file("isolet.npz", folder) or _fetch_isolet()
    X, y = _arrays(path)
    return Dataset(
        "ISOLET",
        X,
        y,
        tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        "150 speakers say each letter of the alphabet twice; three recordings are missing.",
        "https://archive.ics.uci.edu/dataset/54/isolet (OpenML data set 300)",
        "CC BY 4.0",
        "R. Cole, M. Fanty, ISOLET, UCI Machine Learning Repository, 1991.",
    )


def load_rcv1_4class(folder: str | Path | None = None) -> Dataset:
    """Load four classes of RCV1-v2: 9625 news articles, TF-IDF rows of unit length.

    The paper's classes and class sizes, but not its own list of documents, which is not published: articles with
    exactly one of the four topics, drawn at random. From ``folder`` or SIIS_DATA (``rcv1_4class.npz`` and
    ``rcv1_4class_y.npy``), else the user's cache, else a draw from scikit-learn's copy of RCV1-v2; the last two hold
    other documents than the first.

    Parameters
    ----------
    folder : path, optional

    Returns
    -------
    Dataset
        X sparse, of shape (9625, number of words).
    """
    path = local_file("rcv1_4class.npz", folder) or _fetch_rcv1()
    X = sp.csr_array(sp.load_npz(path)).astype(np.float64)
    y = np.load(path.with_name("rcv1_4class_y.npy")).astype(np.int64)
    return Dataset(
        "RCV1",
        X,
        y,
        RCV1_TOPICS,
        "News articles of Reuters Corpus Volume 1 with exactly one of the topics C15, ECAT, GCAT, MCAT.",
        "https://jmlr.csail.mit.edu/papers/volume5/lewis04a/ (scikit-learn's fetch_rcv1)",
        "see the origin",
        "D. D. Lewis, Y. Yang, T. G. Rose, F. Li, RCV1: A New Benchmark Collection, JMLR 5, 2004.",
    )


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


def coil_content(sums: Ints) -> str:
    """Digest the images' block sums, shape (1440, 1024), whatever their order."""
    digests = sorted(hashlib.sha256(row.astype("<u2").tobytes()).hexdigest() for row in sums)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def block_sums(image: Ints) -> Ints:
    """Sum the 4 x 4 blocks of a 128 x 128 image: shape (1024,)."""
    sums: Ints = image.astype(np.int64).reshape(32, 4, 32, 4).sum(axis=(1, 3)).ravel()
    return sums


def read_coil_archive(path: Path) -> tuple[Floats, Ints]:
    """Block means in 0..1, shape (1440, 1024), and classes of coil-20-proc.zip, by object and angle."""
    from PIL import Image  # noqa: PLC0415 - only a download needs it

    with zipfile.ZipFile(path) as archive:
        found = {}
        for name in archive.namelist():
            match = re.search(r"obj(\d+)__(\d+)\.png$", name)
            if match:
                with archive.open(name) as file:
                    found[int(match[1]), int(match[2])] = block_sums(np.asarray(Image.open(file).convert("L")))
    keys = sorted(found)
    sums = np.array([found[key] for key in keys])
    if coil_content(sums) != COIL_CONTENT:
        raise ValueError(
            f"{path} is not the COIL-20 archive that was expected: its images differ. Delete it, try again."
        )
    return sums / 4080.0, np.array([obj - 1 for obj, _ in keys])


def _arrays(path: Path) -> tuple[Floats, Ints]:
    with np.load(path) as stored:
        return stored["X"].astype(np.float64), stored["y"].astype(np.int64)


def _fetch_coil20() -> Path:
    try:
        import pooch  # noqa: PLC0415 - only a download needs it

        archive = pooch.retrieve(COIL_URL, None, "coil-20-proc.zip", cache_folder(), progressbar=True)
    except ImportError as cause:
        raise RuntimeError("downloading COIL-20 needs pooch: pip install 'siis[data]'") from cause
    except Exception as cause:
        raise no_network("COIL-20", COIL_URL, cause) from cause
    X, y = read_coil_archive(Path(archive))
    path = cache_folder() / "coil20.npz"
    write_file(path, _bytes(np.savez_compressed, X=X.astype(np.float32), y=y.astype(np.int16)))
    return path


def _fetch_isolet() -> Path:
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - imports pandas where it is installed

    try:
        fetched = fetch_openml(data_id=300, as_frame=False, parser="liac-arff")
    except Exception as cause:
        raise no_network("ISOLET", "OpenML", cause) from cause
    y = fetched.target.astype(float).astype(np.int16) - 1
    if fetched.data.shape != (7797, 617) or np.unique(y).size != 26:
        raise ValueError(f"OpenML's data set 300 is not ISOLET as expected: shape {fetched.data.shape}")
    path = cache_folder() / "isolet.npz"
    write_file(path, _bytes(np.savez_compressed, X=fetched.data.astype(np.float32), y=y))
    return path


def draw_rcv1(X: sp.csr_array, topics: sp.csr_array, names: list[str]) -> tuple[sp.csr_array, Ints]:
    """The paper's four classes: articles with exactly one of the topics, (9625, words), and their classes."""
    columns = [list(names).index(topic) for topic in RCV1_TOPICS]
    member = np.asarray(sp.csr_array(topics)[:, columns].toarray(), dtype=bool)
    alone = member.sum(axis=1) == 1
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(alone & member[:, k]), size, replace=False) for k, size in enumerate(RCV1_SIZES)]
    )
    rows = np.sort(rows)
    drawn = sp.csr_array(sp.csr_array(X)[rows])
    used = np.flatnonzero(np.bincount(drawn.indices, minlength=drawn.shape[1]))
    return sp.csr_array(drawn[:, used]), member[rows].argmax(axis=1).astype(np.int64)


def _fetch_rcv1() -> Path:
    from sklearn.datasets import fetch_rcv1  # noqa: PLC0415 - imports pandas where it is installed

    try:
        fetched = fetch_rcv1()
    except Exception as cause:
        raise no_network("RCV1-v2", "scikit-learn's origin", cause) from cause
    X, y = draw_rcv1(fetched.data, fetched.target, list(fetched.target_names))
    path = cache_folder() / "rcv1_4class.npz"
    classes = _bytes(np.save, arr=y.astype(np.int16))
    words = _bytes(sp.save_npz, matrix=sp.csr_matrix(X.astype(np.float32)))
    write_files(path.parent, {"rcv1_4class_y.npy": classes, path.name: words})
    return path


def _bytes(save: Callable[..., object], **content: object) -> bytes:
    """What a function of NumPy or SciPy writes into a file."""
    file = io.BytesIO()
    save(file, **content)
    return file.getvalue()
