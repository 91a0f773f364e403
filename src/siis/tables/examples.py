"""The roles that a user gives to parts of a file, and the examples that are read from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siis._types import Features
from siis.encode import EncoderChoice
from siis.encode.image_files import ImageSource

if TYPE_CHECKING:
    from siis.tables.column_uses import ColumnUse
    from siis.tables.recipe import Recipe
    from siis.tables.row_cells import Rows
    from siis.tables.sheet import Sheet
    from siis.tables.tools.tool_file import Answer

LabelNames: TypeAlias = NDArray[np.object_]  # of str, or None


@dataclass(frozen=True)
class Roles:
    """Which part of a file plays which role.

    Attributes
    ----------
    label : str, optional
        Column of the given labels; empty cells are unlabelled. "label" by default, if there is one; NPZ: the
        array, "y" by default. Folder of images: the column of the labels file, "label" by default.
    id : str, optional
        Column that names the examples; without it they are numbered from 1. NPZ: the array, "ids" by default.
        Folder of images: the column of the labels file that names the images, "file" or "id" by default.
    features : tuple of str, optional
        Columns to compare examples by. None: all that hold numbers, dates or categories.
    text : str or tuple of str, optional
        Columns of texts to compare examples by, next to the other columns (with embeddings or a graph: only to show).
    text_only : bool
        Compare examples by their texts alone.
    annotators : tuple of str
        Columns of the answers of several people, in place of ``label``.
    embeddings : Path, optional
        NPY or NPZ file with one row of numbers for each example, in the order of the examples.
    graph : Path, optional
        NPZ file with the weights between all examples, as scipy.sparse.save_npz writes it.
    labels_file : Path, optional
        Table with the labels of a folder of images.
    image : str, optional
        Column of images to compare examples by: names of files, data URIs or contents (with embeddings or a graph:
        only to show). That of a labelling tool by default.
    image_folder : Path, optional
        Folder of the files that this column names; that of the table by default.
    encoder : EncoderChoice, optional
        Network that turns images or texts into features; without it they are compared by pixels and words.
    encoding : str
        Of text files.
    unlabelled : tuple of str
        Words that mean "no label" in the columns of labels, in any case. If empty: NaN, the mark of
        MySQL for NULL, and -1 unless 1 is the only other label. Empty cells always are unlabelled, and any other word
        is a class.
    merge_classes : bool
        Labels that differ only in how they are written are one class, called as most of them are.
    sheet : str, optional
        Of an XLSX file; the first by default.
    header_row : int, optional
        Row of the names of columns in a text file or a sheet, from 1; found by default.
    """

    label: str | None = None
    id: str | None = None
    features: tuple[str, ...] | None = None
    text: str | tuple[str, ...] | None = None
    annotators: tuple[str, ...] = ()
    embeddings: Path | None = None
    graph: Path | None = None
    labels_file: Path | None = None
    encoding: str = "utf-8"
    text_only: bool = False
    unlabelled: tuple[str, ...] = ()
    merge_classes: bool = False
    sheet: str | None = None
    header_row: int | None = None
    encoder: EncoderChoice | None = None
    image: str | None = None
    image_folder: Path | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts, however many."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text or ())


@dataclass(frozen=True, eq=False)
class Data:
    """Examples and their given labels.

    Attributes
    ----------
    ids : tuple of str, length n
    labels : ndarray of str or None, shape (n,); None where there are annotators
    annotations : ndarray of str or None, shape (n, a); None without annotators
    X : ndarray of float32 or float64, or csr_array, shape (n, d); a graph: csr_array of shape (n, n)
    affinity : {"nearest_neighbors", "precomputed"}
    texts : tuple of str, length n, or None
    images : tuple of Path or EmbeddedImage, length n, or None
    recipe : Recipe, or None for a graph
        Turns files with new examples into rows like those of X.
    notes : tuple of str
        What was understood, in sentences.
    rows : Rows of length n, or None
        What a table says of each example besides its id and its labels.
    columns : tuple of ColumnUse
        What each column of a table became, in the order of the file; empty for other files.
    verified : dict of int to str
        Examples whose label is known to be right, as the file itself says.
    annotators : tuple of a str
        Whose annotations these are.
    written_back : callable, or None
        LabelNames -> the file of a labelling tool with these answers in it; None for other files.
    tool : str or None
        What wrote the file: its ids are those of that tool, unless the user has named others.
    contents : tuple of mapping
        What each example is about, as the file of a labelling tool says it; else empty.
    sheet : Sheet, or None
        The table that was read; None for other files.
    """

    ids: tuple[str, ...]
    labels: LabelNames | None
    annotations: LabelNames | None
    X: Features
    affinity: str
    texts: tuple[str, ...] | None
    images: tuple[ImageSource, ...] | None
    recipe: Recipe | None
    notes: tuple[str, ...]
    rows: Rows | None = None
    columns: tuple[ColumnUse, ...] = ()
    verified: Mapping[int, str] = field(default_factory=dict)
    annotators: tuple[str, ...] = ()
    written_back: Callable[[Sequence[Answer]], dict[str, bytes]] | None = None
    tool: str | None = None
    contents: tuple[Mapping[str, Any], ...] = ()
    sheet: Sheet | None = None

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.annotations is None):
            raise ValueError("data must hold either labels or annotations")
        _check_lengths(self.ids, self.labels, self.annotations, self.X, self.texts, self.images, self.rows)


@dataclass(frozen=True, eq=False)
class NewData:
    """New examples, without labels.

    Attributes
    ----------
    ids : tuple of str, length n
    X : ndarray of float32 or float64, or csr_array, shape (n, d)
    texts : tuple of str, length n, or None
    images : tuple of Path or EmbeddedImage, length n, or None
    notes : tuple of str
    """

    ids: tuple[str, ...]
    X: Features
    texts: tuple[str, ...] | None
    images: tuple[ImageSource, ...] | None
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_lengths(self.ids, self.X, self.texts, self.images)


def _check_lengths(*parts: Any) -> None:
    lengths = {part.shape[0] if hasattr(part, "shape") else len(part) for part in parts if part is not None}
    if len(lengths) > 1:
        raise ValueError(f"all parts must have one entry for each example; found lengths {sorted(lengths)}")
