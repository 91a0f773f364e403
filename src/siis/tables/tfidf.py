"""TF-IDF features of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from siis._types import Floats, Sparse
from siis.plain_data import check, check_distinct, frozen
from siis.texts import plural, quoted

MOST_TERMS = 50_000
MANY_TEXTS = 200  # beyond, a word counts where two texts have it
SYLLABLES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # kana, Han
LETTERS = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
GRAMS = {SYLLABLES: (1, 2), LETTERS: (2, 3)}  # letters that are taken together where nothing separates words
PIECES = re.compile(f"([{SYLLABLES}]+)|([{LETTERS}]+)|([^{SYLLABLES}{LETTERS}]+)")
WORD = re.compile(r"\b\w\w+\b")  # as scikit-learn has it
UNSPACED = 0.1  # share of letters without spaces between words from which on a column is read so


@dataclass(frozen=True, eq=False)
class Words:
    """Encodes texts as rows of unit length: (1 + log count) times the inverse document frequency of each word."""

    kind: ClassVar[str] = "text"
    column: str  # of the texts
    terms: tuple[str, ...]  # (d,)
    idf: Floats  # (d,)
    # the language has no spaces between words: one to three neighbouring letters count as words
    is_unspaced: bool = False

    def __post_init__(self) -> None:
        check_distinct(self.terms, "words")
        check(self.idf.size == len(self.terms) and bool((self.idf > 0).all()), "a positive frequency for each word")

    @classmethod
    def learn(cls, column: str, texts: Sequence[str], where: str) -> Self:
        """Learn the words of n texts and their frequencies; ``where`` names file and column in messages."""
        rarest = 2 if len(texts) > MANY_TEXTS else 1
        is_unspaced = unspaced_share(texts) >= UNSPACED
        vectorizer = _vectorizer(is_unspaced, min_df=rarest, max_features=MOST_TERMS)
        try:
            vectorizer.fit(texts)
        except ValueError:  # an empty vocabulary
            shared = " that two of them share" if rarest > 1 else ""
            problem = f"the texts must have words of two letters or more{shared}; found none."
            raise ValueError(f"{where}: {problem} Name another column of texts.") from None
        terms = tuple(map(str, vectorizer.get_feature_names_out()))
        return cls(column, terms, frozen(vectorizer.idf_), is_unspaced)

    def encode(self, texts: Sequence[str], encoder: Any = None) -> tuple[Sparse, list[str]]:
        """Features of n texts, shape (n, d), and notes."""
        vectorizer = _vectorizer(self.is_unspaced, vocabulary=list(self.terms))
        vectorizer.idf_ = self.idf
        X = sp.csr_array(vectorizer.transform(texts))
        n_empty = int(np.count_nonzero(np.diff(X.indptr) == 0))
        if not n_empty:
            return X, []
        have, they = ("text has", "it has") if n_empty == 1 else ("texts have", "they have")
        return X, [f"{n_empty:,} {have} no known word in column {quoted(self.column)}: {they} no features"]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}: {term}" for term in self.terms)

    def summary(self) -> str:
        """What the texts become."""
        return f"texts with {self.remark()}"

    def remark(self) -> str:
        """How many words the texts have."""
        if self.is_unspaced:
            return plural(len(self.terms), "different word or piece of one", "different words and pieces of them")
        return plural(len(self.terms), "different word")


def _vectorizer(is_unspaced: bool, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - slow import

    return TfidfVectorizer(sublinear_tf=True, analyzer=pieces if is_unspaced else "word", **options)


def unspaced_share(texts: Sequence[str]) -> float:
    """Share of letters in scripts without spaces between words, such as Chinese or Thai; 0 without letters."""
    unspaced = re.compile(f"[{SYLLABLES}{LETTERS}]")
    n_unspaced = sum(len(unspaced.findall(text)) for text in texts)
    n_others = sum(map(str.isalpha, "".join(unspaced.sub("", text) for text in texts)))
    return n_unspaced / max(n_unspaced + n_others, 1)


def pieces(text: str) -> Iterator[str]:
    """Words where spaces separate them, neighbouring letters in other scripts."""
    for syllables, letters, others in PIECES.findall(text.lower()):
        yield from WORD.findall(others)
        for run, sizes in ((syllables, GRAMS[SYLLABLES]), (letters, GRAMS[LETTERS])):
            for size in sizes:
                yield from (run[k : k + size] for k in range(len(run) - size + 1))
