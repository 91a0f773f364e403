"""The roles that a user gives to parts of a file, and the examples that are read from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from siis._types import Features
from siis.encode import EncoderChoice
from siis.encode.image_files import ImageSource
from siis.tables.cell_values import as_texts

if TYPE_CHECKING:
    from siis.tables.choosing import ColumnUse
    from siis.tables.recipe import Recipe
    from siis.tables.sheet import Sheet
    from siis.tables.tools.tool_file import Answer

LabelNames: TypeAlias = NDArray[np.object_]  # of str, or None


@dataclass(frozen=True)
class Roles:
    """Which part of a file plays which role.

    Without ``label`` and ``id``, a table has its labels in the column "label" and numbers its examples from 1. An NPZ
    file has arrays "y" and "ids"; the labels file of a folder of images has columns "label" and "file" or "id".
    """

    label: str | None = None  # empty cells are unlabelled
    id: str | None = None  # names the examples
    features: tuple[str, ...] | None = None  # columns; None: all that hold numbers, dates or categories
    text: str | tuple[str, ...] | None = None  # along with other columns; only shown with embeddings or a graph
    annotators: tuple[str, ...] = ()  # columns of the answers of several people, in place of ``label``
    embeddings: Path | None = None  # NPY or NPZ: one row of numbers for each example, in their order
    graph: Path | None = None  # NPZ: the weights between all examples, as scipy.sparse.save_npz writes it
    labels_file: Path | None = None  # of a folder of images
    encoding: str = "utf-8"  # of text files
    text_only: bool = False  # compare examples by their texts alone
    unlabelled: tuple[str, ...] = ()  # words for "no label"; if empty: NaN, \N, and -1 unless 1 is the only other
    merge_classes: bool = False  # labels that differ only in how they are written are one class
    sheet: str | None = None  # of an XLSX file; the first by default
    header_row: int | None = None  # in a text file or a sheet, from 1; detected by default
    encoder: EncoderChoice | None = None  # without it images and texts are compared by pixels and words
    image: str | None = None  # column of file names, data URIs or contents; that of a labelling tool by default
    image_folder: Path | None = None  # of the files that this column names; that of the table by default

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts, however many."""
        return (self.text,) if isinstance(self.text, str) else tuple(self.text or ())


NO_ROLES = Roles()


class Rows(Sequence[tuple[str, ...]]):
    """The cells of each example as written in the file, "" for an empty cell. k columns of length n."""

    def __init__(self, names: tuple[str, ...], columns: tuple[Any, ...], n: int, decimal: str = ".") -> None:
        self.names, self.columns, self.decimal, self._n = names, columns, decimal, n

    @classmethod
    def of(cls, sheet: Sheet, left_out: Collection[str | None]) -> Self:
        """The cells of a table, without columns that are shown elsewhere (ids, labels, texts)."""
        texts = {name: as_texts(column) for name, column in sheet.columns.items() if name not in left_out}
        kept = {name: column for name, column in texts.items() if column is not None}
        return cls(tuple(kept), tuple(kept.values()), sheet.n, sheet.decimal)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        i = range(self._n)[index]  # one example; counts from the end where it is negative
        return tuple(column[i].as_py() or "" for column in self.columns)

    def lines(self, length: int, most: int) -> list[str] | None:
        """Columns as texts of n lines, cells cut at ``length`` characters; None beyond ``most`` bytes."""
        texts, n_bytes = [], 0
        for column in self.columns:
            cells = pc.replace_substring_regex(pc.fill_null(column, ""), r"\s+", " ")
            start, end = pc.utf8_slice_codeunits(cells, 0, length - 1), pa.scalar("…", cells.type)
            cut = pc.binary_join_element_wise(start, end, pa.scalar("", cells.type))
            cells = pc.if_else(pc.greater(pc.utf8_length(cells), length), cut, cells)
            n_bytes += self._n + (pc.sum(pc.binary_length(cells)).as_py() or 0)
            if n_bytes > most:
                return None
            texts.append("\n".join(cells.to_pylist()))
        return texts


@dataclass(frozen=True, eq=False)
class Data:
    """Examples and their given labels."""

    ids: tuple[str, ...]
    labels: LabelNames | None  # (n,); None where there are annotators
    annotations: LabelNames | None  # (n, a); None without annotators
    X: Features = None  # (n, d), or the weights of a graph, (n, n); None until the features are known
    affinity: str = "nearest_neighbors"
    texts: tuple[str, ...] | None = None
    images: tuple[ImageSource, ...] | None = None
    recipe: Recipe | None = None  # turns new files into rows like those of X; None for a graph
    notes: tuple[str, ...] = ()  # what was understood, in sentences
    rows: Rows | None = None  # cells of a table without ids and labels
    columns: tuple[ColumnUse, ...] = ()  # in the order of the file; empty where it is no table
    verified: Mapping[int, str] = field(default_factory=dict)  # examples whose label the file itself calls right
    annotators: tuple[str, ...] = ()  # a names, of the columns of annotations
    written_back: Callable[[Sequence[Answer]], dict[str, bytes]] | None = None
    tool: str | None = None  # what wrote the file: its ids are those of that tool, unless the user has named others
    # what each example is about, as the file of a labelling tool says it
    contents: tuple[Mapping[str, Any], ...] = ()
    sheet: Sheet | None = None  # the table that was read

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.annotations is None):
            raise ValueError("data must hold either labels or annotations")
        _check_lengths(self.ids, self.labels, self.annotations, self.X, self.texts, self.images, self.rows)

    @property
    def answers(self) -> LabelNames:
        """Labels, shape (n,), or annotations, shape (n, a)."""
        answers = self.labels if self.labels is not None else self.annotations
        assert answers is not None
        return answers


@dataclass(frozen=True, eq=False)
class Encoded:
    """Features and their encoder."""

    encoder: Any  # None for a graph
    X: Features  # (n, d)
    summary: str
    notes: Sequence[str] = ()
    uses: tuple[ColumnUse, ...] = ()  # of the columns that could be features


@dataclass(frozen=True, eq=False)
class NewData:
    """New examples, without labels."""

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
