"""Cross-validation where only some examples have a label: folds that hold out labels, and scores that count them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from siis._types import Ints
from siis.labels.coding import encode_labels
from siis.labels.folds import deal_folds
from siis.labels.unlabelled import labelled_rows, some_labelled
from siis.parameters import COUNT

__all__ = ["LabelledKFold", "LabelledScorer", "labelled_accuracy_scorer", "labelled_scorer"]


class LabelledKFold(BaseCrossValidator):  # type: ignore[misc]  # untyped base
    """Folds of the labelled examples; the unlabelled ones stay in every training set.

    Each label is held out once. The labels of a class go round the folds, so that each fold has its share of them,
    and one stays wherever there are two; the only label of a class is never held out. Use it as ``cv=`` of
    scikit-learn's ``GridSearchCV`` or ``cross_val_score``.

    Parameters
    ----------
    n_splits : int
        Number of folds, 2 or more.
    shuffle : bool
        Deal the labels of a class in random order rather than in theirs.
    random_state : int, RandomState or None
        Of the random order.

    Examples
    --------
    >>> import numpy as np
    >>> from siis.validation import LabelledKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> [(train.tolist(), test.tolist()) for train, test in LabelledKFold(2).split(y, y)]
    [([2, 3, 4, 5], [0, 1]), ([0, 1, 2, 5], [3, 4])]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Give the number of folds.

        Parameters
        ----------
        X, y, groups : object
            Not used.

        Returns
        -------
        int
        """
        return self.n_splits

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Ints]:
        if y is None:
            raise ValueError("LabelledKFold deals labels to folds; found y=None. Pass the labels as y.")
        fold = self._dealt(encode_labels(y).codes)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold == k)

    def _dealt(self, codes: Ints) -> Ints:
        """The fold of each example; -1 where it is never held out."""
        if not COUNT.holds(self.n_splits) or self.n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2; found {self.n_splits!r}")
        permute = check_random_state(self.random_state).permutation if self.shuffle else np.asarray
        fold = deal_folds(codes, self.n_splits, permute, least=2)
        if (found := np.count_nonzero(fold >= 0)) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need as many labels of classes that have two or more; there are "
                f"{found}. Lower n_splits, or label more examples."
            )
        return fold


@dataclass(frozen=True)
class LabelledScorer:
    """A score over the labelled examples alone; see ``labelled_scorer``.

    Attributes
    ----------
    scorer : callable
        Takes estimator, X and y.
    """

    scorer: Callable[..., float]

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator on the labelled examples; y as in ``fit``, (n,)."""
        rows = np.flatnonzero(some_labelled(labelled_rows(y, estimator.classes_)))
        given = np.asarray(np.asarray(y).ravel()[rows].tolist())  # scikit-learn's scores refuse objects
        return self.scorer(estimator, _safe_indexing(X, rows), given)


def labelled_scorer(scoring: str | Callable[..., float]) -> LabelledScorer:
    """Make any score of scikit-learn one over the labelled examples alone.

    Parameters
    ----------
    scoring : str or callable
        A name, such as "balanced_accuracy", or a scorer.

    Returns
    -------
    LabelledScorer
        To be used as ``scoring=``.
    """
    return LabelledScorer(get_scorer(scoring))


labelled_accuracy_scorer = labelled_scorer("accuracy")
