"""SIISClassifier(engine="dask"): Dask arrays and data frames are classified where they lie, on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from siis.engine.choice import DASK
from siis.estimators.base import TransductiveClassifier

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

INSTALL = "Install them with `pip install 'siis[cluster]'`."
NOT_THERE = (  # attributes that stay on the workers
    "graph_",
    "vertex_",
    "basis_",
    "solution_",
    "history_",
    "neighbor_search_",
    "neighbor_recall_",
    "families_",
    "class_shares_",
)
WITHOUT_GRAPH = ("label_issues", "label_ranking", "predict_sets")  # methods that need no graph


@dataclass(frozen=True, eq=False)
class ChunkPredictor:
    """A method of the model of the sample, which is sent to the workers."""

    model: SIISClassifier
    encoder: Any  # of data frames
    method: str
    settings: dict[str, Any]  # of the method
    width: int  # columns of the answer; 0 where it has one dimension
    dtype: Any

    def __call__(self, X: Any) -> Any:
        """The answers for some rows."""
        X = X if self.encoder is None else self.encoder.transform(X)
        return getattr(self.model, self.method)(X, **self.settings)

    def of_chunk(self, X: Any) -> Any:
        """The answers for a chunk, which may be empty."""
        return self(X) if len(X) else np.empty((0, self.width) if self.width else 0, self.dtype)


class OnCluster(TransductiveClassifier):
    """A classifier that may be fitted on the workers of Dask."""

    client: Any
    engine: str
    device: str
    random_state: Any
    sample_model_: SIISClassifier

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities.

        A training example gets its own row of ``label_distributions_``. For another one, the scores of its nearest
        training examples are averaged, weighted as edges of the graph would be; the scores of the models of the
        features (``families_``) are added, and the sum is calibrated. With ``method="paper"`` it gets the mean of its
        neighbours' distributions. With a ready-made graph, the graph
        itself gives the training examples' own answers; any other matrix is read as new examples. After a fit with
        ``engine="dask"``, the training examples are those of the sample, ``sample_model_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
            With ``affinity="precomputed"``: weights between new and training examples, shape (n_new, n). After a fit
            with ``engine="dask"``, also a Dask array or data frame.

        Returns
        -------
        ndarray of shape (n_new, c), or a Dask array where X was Dask's
            Rows sum to 1; columns as in ``classes_``.
        """
        if not self._fitted_on_cluster:
            return super().predict_proba(X)
        return self._predict_chunks(X, "predict_proba", self.classes_.size, np.float64)

    def predict(self, X: Any) -> Any:
        """Give the classes of examples: the largest entry of ``predict_proba``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
            After a fit with ``engine="dask"``, also a Dask array or data frame.

        Returns
        -------
        ndarray of shape (n_new,), or a Dask array where X was Dask's
        """
        if not self._fitted_on_cluster:
            return super().predict(X)
        return self._predict_chunks(X, "predict", 0, self.classes_.dtype)

    @property
    def _fitted_on_cluster(self) -> bool:
        """Whether the last fit was one on a cluster."""
        return "sample_model_" in vars(self)

    def _predict_chunks(self, X: Any, method: str, width: int, dtype: Any, **settings: Any) -> Any:
        """The answers of the model of the sample, chunk by chunk where X has chunks."""
        check_is_fitted(self)
        encoder = getattr(self, "table_encoder_", None)
        predictor = ChunkPredictor(self.sample_model_, encoder, method, settings, width, dtype)
        if not hasattr(X, "__dask_graph__"):
            return predictor(X)
        from siis.estimators.dask_rows import over_chunks  # noqa: PLC0415  (an extra)

        self._take_shape(X, reset=False)
        return over_chunks(X, ChunkPredictor.of_chunk, predictor, width, dtype)

    def _refuse_on_cluster(self, method: str) -> None:
        """Refuse what needs the graph of all rows."""
        if self._fitted_on_cluster and method not in WITHOUT_GRAPH:
            raise ValueError(
                f"{method} needs the graph, which stays on the workers of a cluster. Use the model of the sample: "
                f"sample_model_.{method}(), whose example i is row sample_rows_[i] of X."
            )

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any, verified: Any) -> bool:
        if self.engine != DASK:
            if self.client is not None:
                raise ValueError(f"client goes with engine='dask'; found engine={self.engine!r}. Leave one out.")
            return False
        if find_spec("distributed") is None:
            raise ValueError(f"engine='dask' needs dask and distributed, which are not installed. {INSTALL}")
        from siis.estimators.cluster_fit import fit_on_cluster  # noqa: PLC0415  (an extra)

        given = {"sample_weight": sample_weight, "verified": verified}
        shown = fit_on_cluster(self, X, y, [name for name, value in given.items() if value is not None])
        for name in set(vars(self)) - set(self.get_params(deep=False)):
            delattr(self, name)  # of an earlier fit
        self._take_shape(X, reset=True)
        for name, value in shown.items():
            setattr(self, name, value)
        return True

    def _take_shape(self, X: Any, reset: bool) -> None:
        """Learn the number and names of X's columns, or compare them with those of the fit."""
        validate_data(
            self, getattr(X, "_meta", X) if hasattr(X, "columns") else X, reset=reset, skip_check_array=True
        )

    def __sklearn_clone__(self) -> Any:
        """A new classifier with the same parameters; it shares the client, which cannot be copied."""
        given = self.get_params(deep=False)
        return type(self)(
            **{name: given[name] if name == "client" else clone(given[name], safe=False) for name in given}
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but the client, which lives in this process alone."""
        return {**super().__getstate__(), "client": None}

    if not TYPE_CHECKING:  # else any attribute would seem to be there

        def __getattr__(self, name):
            """Say why an attribute is missing."""
            if name in NOT_THERE and "sample_model_" in vars(self):
                raise AttributeError(
                    f"{name} is not available after a fit on a cluster: it stays on the workers. "
                    f"That of the sample is sample_model_.{name}",
                    name=name,
                    obj=self,
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
