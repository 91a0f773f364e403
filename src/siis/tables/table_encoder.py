"""The columns of a data frame, or of an array, as a scikit-learn transformer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from siis._types import Features
from siis.encode import EncoderChoice
from siis.tables.examples import Roles
from siis.tables.features import encode_table
from siis.tables.recipe import Recipe
from siis.tables.sheet import Sheet
from siis.tables.tools.tool_file import RawTable

KINDS = "a pandas or polars data frame, a pyarrow table, a dict of columns or an array of two dimensions"


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Turn the columns of a table into features, as ``siis fit`` does with those of a file.

    Numbers stay as they are, also where they are written as money, percents or with units; marks for missing values
    become the median. Dates become days and the cycles that they run through; categories become one feature each,
    the rare ones together. Texts become TF-IDF features next to the others. Columns without information are left out:
    ``columns_`` says which.

    Parameters
    ----------
    features : sequence of str or None, default=None
        The columns to use in addition to the texts. If left out: all that can be used.
    text : str, sequence of str or None, default=None
        Columns to compare by their words.
    text_only : bool, default=False
        Use no other columns.
    encoder : str, EncoderChoice or None, default=None
        Network that turns texts into features: an ONNX file, or the name of a model of sentence-transformers. If left
        out: their words.

    Attributes
    ----------
    columns_ : tuple of ColumnUse
        What each column became.
    notes_ : tuple of str
        The same in sentences, with what was missing.
    recipe_ : Recipe
        What was learned, as plain data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where the columns of X have names.

    See Also
    --------
    siis.SIISClassifier : Classifies the rows, from few and partly wrong labels.
    siis.tables.read : The same for files.

    Examples
    --------
    >>> from siis.tables import TableEncoder
    >>> table = {"price": ["$1,200", "$800", "?", "$950", "$990"], "colour": ["red", "blue", "red", "red", "blue"]}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['price', 'colour=blue', 'colour=red']
    >>> encoder.transform(table)[:, 0].tolist()
    [1200.0, 800.0, 970.0, 950.0, 990.0]
    """

    def __init__(self, features: Any = None, text: Any = None, text_only: bool = False, encoder: Any = None) -> None:
        self.features = features
        self.text = text
        self.text_only = text_only
        self.encoder = encoder

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.dict = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to encode the columns of a table.

        Parameters
        ----------
        X : pandas or polars data frame (also lazy), pyarrow table, dict of columns, or array of shape (n, k)
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Features:
        """Learn how to encode the columns of a table, and encode it.

        Parameters
        ----------
        X : pandas or polars data frame (also lazy), pyarrow table, dict of columns, or array of shape (n, k)
        y : ignored

        Returns
        -------
        ndarray, or csr_array where there are texts, of shape (n, d)
        """
        X = collected(X)
        sheet = sheet_of_frame(X)
        if sheet.n == 1:
            problem = "X must have two rows or more to recognise kinds of columns; found n_samples = 1."
            raise ValueError(f"{problem} Add rows.")
        texts = (self.text,) if isinstance(self.text, str) else tuple(self.text or ())
        for option, is_given in (("text_only=True", self.text_only), ("an encoder", self.encoder is not None)):
            if is_given and not texts:
                raise ValueError(f"{option} goes with columns of texts; found none. Name them with text=.")
        network = self.encoder
        if network is not None and not isinstance(network, EncoderChoice):
            network = EncoderChoice(str(network))
        features = None if self.features is None else tuple(self.features)
        roles = Roles(features=features, text=texts, text_only=self.text_only, encoder=network)
        found = encode_table(sheet, roles, set())
        self.recipe_, self.columns_, self.notes_ = Recipe(found.encoder), found.uses, found.notes
        self._encoder, self._network = found.encoder, network
        self.n_features_in_ = len(sheet.columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if has_names(X):
            self.feature_names_in_ = np.array(list(sheet.columns), dtype=object)
        return found.X

    def transform(self, X: Any) -> Features:
        """Encode a table with the same columns; others are ignored where columns have names.

        Parameters
        ----------
        X : pandas or polars data frame (also lazy), pyarrow table, dict of columns, or array of shape (n, k)

        Returns
        -------
        ndarray, or csr_array where there are texts, of shape (n, d)
        """
        check_is_fitted(self)
        X = collected(X)
        sheet = sheet_of_frame(X)
        if not has_names(X) and len(sheet.columns) != self.n_features_in_:
            expected = f"but TableEncoder is expecting {self.n_features_in_} features as input"
            raise ValueError(f"X has {len(sheet.columns)} features, {expected}.")
        return self._encoder.encode(sheet, self._network)[0]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the features.

        Parameters
        ----------
        input_features : ignored
            The names are those of the columns that ``fit`` saw.

        Returns
        -------
        ndarray of str, shape (d,)
        """
        check_is_fitted(self)
        return np.array(self._encoder.feature_names, dtype=object)


def sheet_of_frame(X: Any) -> Sheet:
    """The columns of a data frame, a dict of columns, or an array of shape (n, k)."""
    columns = {str(name): _column(str(name), values) for name, values in _named_columns(X).items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"the columns of X must be equally long; found lengths {sorted(lengths)}.")
    n = lengths.pop() if lengths else 0
    if not columns or not n:
        raise ValueError(
            f"X must have at least one row and one column; found {n} sample(s) and {len(columns)} feature(s) "
            f"(shape=({n}, {len(columns)})) while a minimum of 1 is required."
        )
    return Sheet.of(Path("X"), RawTable(list(columns), list(columns.values()), []), is_file=False)


def collected(X: Any) -> Any:
    """Compute a lazy frame of polars; other objects are returned as they are."""
    return X.collect() if hasattr(X, "collect_schema") and hasattr(X, "collect") else X


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names."""
    return isinstance(X, Mapping) or hasattr(X, "columns")


def _named_columns(X: Any) -> dict[Any, Any]:
    if sp.issparse(X):
        raise TypeError(f"X must be {KINDS}; found a sparse matrix. Sparse input is not supported: use X.toarray().")
    if isinstance(X, Mapping):
        return dict(X)
    names = X.column_names if isinstance(X, pa.Table) else getattr(X, "columns", None)
    if names is not None:
        many = [name for name, count in Counter(map(str, names)).items() if count > 1]
        if many:
            raise ValueError(f"the columns of X must have different names; found {many[0]!r} twice. Rename one.")
        return {name: X[name] for name in names}
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind == "c":
        found = "Complex data not supported" if array.dtype.kind == "c" else f"{array.ndim} dimension(s)"
        raise ValueError(f"X must be {KINDS}; found: {found}. Reshape your data: one row for each example.")
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def _column(name: str, values: Any) -> Any:
    if isinstance(values, pa.ChunkedArray):
        return values
    if hasattr(values, "to_arrow"):  # polars
        return pa.chunked_array([values.to_arrow()])
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # objects of several types
        column = pa.array([_written(value) for value in values], pa.string())
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _written(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # noqa: PLR0124 - NaN
        return None
    if isinstance(value, dict | list | set | tuple):
        raise TypeError(f"a cell of X, as an argument, must be a string or a number; found {type(value).__name__}")
    return str(value)
