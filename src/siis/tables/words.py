"""Texts -> TF-IDF features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.tables.encoders import Plain, distinct_texts, finite_numbers, frozen, only_keys, refused
from siis.texts import plural, quoted

MOST_TERMS = 50_000
MANY_TEXTS = 200  # beyond, a word counts where two texts have it


@dataclass(frozen=True, eq=False)
class Words:
    """Turns texts into rows of unit length: (1 + log count) times the inverse document frequency of each word.

    Attributes
    ----------
    column : str
        Where the texts stand.
    terms : tuple of str, length d
    idf : ndarray of shape (d,)
    """

    kind: ClassVar[str] = "text"
    column: str
    terms: tuple[str, ...]
    idf: Floats

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.terms)

    @classmethod
    def learn(cls, column: str, texts: Sequence[str], where: str) -> Self:
        """Learn the words and their frequencies.

        Parameters
        ----------
        column : str
        texts : sequence of str, length n
        where : str
            File and column, for messages.

        Returns
        -------
        Words
        """
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

        rarest = 2 if len(texts) > MANY_TEXTS else 1
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=rarest, max_features=MOST_TERMS)
        try:
            vectorizer.fit(texts)
        except ValueError:  # an empty vocabulary
            raise ValueError(
                f"{where}: the texts must have words of two letters or more"
                f"{' that two of them share' if rarest > 1 else ''}; found none. Name another column of texts."
            ) from None
        return cls(column, tuple(map(str, vectorizer.get_feature_names_out())), frozen(vectorizer.idf_))

    def encode(self, texts: Sequence[str]) -> tuple[Sparse, list[str]]:
        """Build the features of texts.

        Parameters
        ----------
        texts : sequence of str, length n

        Returns
        -------
        X : csr_array of shape (n, d)
        notes : list of str
        """
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415
        from sklearn.preprocessing import normalize  # noqa: PLC0415

        vectorizer = CountVectorizer(vocabulary={term: i for i, term in enumerate(self.terms)}, dtype=np.float64)
        X = sp.csr_array(vectorizer.transform(texts))
        X.data = (1 + np.log(X.data)) * self.idf[X.indices]
        X = sp.csr_array(normalize(X, copy=False))
        n_empty = int(np.count_nonzero(np.diff(X.indptr) == 0))
        if not n_empty:
            return X, []
        have = "text has" if n_empty == 1 else "texts have"
        share = "nothing tells it from other such texts" if n_empty == 1 else "nothing tells them apart"
        return X, [f"{n_empty:,} {have} no known word in column {quoted(self.column)}: {share}"]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}: {term}" for term in self.terms)

    def summary(self) -> str:
        """Say how many words there are.

        Returns
        -------
        str
        """
        return f"texts with {plural(len(self.terms), 'different word')}"

    def to_plain(self) -> Plain:
        """Give the encoder as plain data.

        Returns
        -------
        settings : dict, JSON-able
        arrays : dict of str to ndarray
        """
        return {"column": self.column, "terms": list(self.terms)}, {"idf": self.idf}

    @classmethod
    def from_plain(cls, settings: Any, arrays: Any) -> Self:
        """Rebuild an encoder, refusing anything that is not one.

        Parameters
        ----------
        settings : dict
        arrays : dict of str to ndarray

        Returns
        -------
        Words
        """
        settings = only_keys(settings, ("column", "terms"), "settings")
        arrays = only_keys(arrays, ("idf",), "arrays")
        if type(settings["column"]) is not str:
            raise refused("the name of a column")
        terms = distinct_texts(settings["terms"], "words", MOST_TERMS)
        idf = finite_numbers(arrays["idf"], len(terms), "word frequencies")
        if (idf <= 0).any():
            raise refused("positive word frequencies")
        return cls(settings["column"], terms, idf)
