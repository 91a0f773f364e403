"""What must hold of a model from a file before any of it is used.

Compiled loops and SciPy follow indices without checks. So whatever they are given is checked here: shapes of arrays,
indices that exist, numbers that stay numbers when they are squared. The archive has checked types by annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis.estimators.classifier import SIISClassifier
from siis.estimators.result import AverageFit, FitResult, LabelQuality
from siis.model.choose import Choices
from siis.model.config import FEATURES, FOREST, GIVEN, GRAPH, KERNEL, SUM, MemberConfig
from siis.model.linear import LinearScores
from siis.model.predictor import Predictor
from siis.model.programs import ProgramConfig
from siis.model.spaces import Space
from siis.model.trees import Forest
from siis.parameters import check_parameters

LARGEST = 1e153  # beyond, squares leave double precision
MOST = 2**62
ROUNDING = 1e-6  # of probabilities
FAMILIES = (GRAPH, KERNEL, SUM, FOREST)
PRECOMPUTED = "precomputed"
COMPANIONS = ("source", "ids", "given", "verified", "snippets", "recipe", "recipe_arrays", "id_column")
OURS = {"recipe", "recipe_arrays", "id_column"}  # with these, siis fit has saved the model


def check_model(parameters: Any, features: Any, result: Any) -> None:
    """Check parameters, features and result of a classifier."""
    _must(isinstance(parameters, dict) and isinstance(features, dict), "it holds no model")
    _must(isinstance(result, FitResult), "it holds no result of a fit")
    _must(set(parameters) == set(SIISClassifier().get_params()), "it has other parameters")
    check_parameters(SIISClassifier(**parameters))
    d = _whole(features.get("n_features_in_"), "n_features_in_")
    if "feature_names_in_" in features:
        names = features["feature_names_in_"]
        _must(isinstance(names, np.ndarray), "feature_names_in_ are no names")
        _shape(names, "feature_names_in_", (d,))
        _must(all(isinstance(name, str) for name in names.tolist()), "feature_names_in_ are no names")
    _must(set(features) <= {"n_features_in_", "feature_names_in_"}, "it has other features")
    _check_result(result, parameters["affinity"], d)


def check_extra(extra: Any, features: Mapping[str, Any], result: FitResult) -> None:
    """Check what siis fit stores with a model; what others have stored is not checked."""
    _must(isinstance(extra, dict), "it holds no companions of a model")
    if not OURS & set(extra):
        return
    missing = [name for name in COMPANIONS if name not in extra]
    _must(not missing, f"it lacks {', '.join(missing)}")
    n = result.codes.size
    _must(isinstance(extra["source"], str), "the name of its source is no text")
    _must(isinstance(extra["id_column"], str | None), "the name of its ids is no text")
    _texts(extra["ids"], "ids", n)
    if extra["snippets"] is not None:
        _texts(extra["snippets"], "snippets", n)
    if extra.get("row_names") is not None:
        _must(isinstance(extra["row_names"], list), "names of its columns are no texts")
        for name in ("row_names", "row_cells"):
            _texts(extra.get(name), name, len(extra["row_names"]))
        _must(all(text.count("\n") == n - 1 for text in extra["row_cells"]), f"row_cells are not {n} cells each")
        _must(extra.get("row_decimal", ".") in (".", ","), "row_decimal is no point or comma")
    _must(isinstance(extra.get("row_note"), str | None), "row_note is no text")
    verified = extra["verified"]
    _must(isinstance(verified, np.ndarray) and verified.dtype == bool, "verified is neither true nor false")
    _shape(verified, "verified", (n,))
    given = extra["given"]
    _must(isinstance(given, np.ndarray) and given.dtype == object and given.shape == (n,), "given are no labels")
    _must(all(isinstance(label, str | None) for label in given), "given are no labels")
    if extra["recipe"] is not None:
        from siis.tables import Recipe  # noqa: PLC0415  (heavy)

        found = Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder.n_features
        d = features["n_features_in_"]
        _must(found == d, f"its recipe gives {found} features, and the model takes {d}")
        for name, array in extra["recipe_arrays"].items():
            _must(bool((np.abs(array) <= LARGEST).all()), f"{name} of its recipe are too large")


def _check_classes(classes: Any) -> None:
    _must(isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size > 0, "classes_ are none")
    plain = all(isinstance(name, str | bool | int | float) for name in classes.tolist())
    _must(plain or classes.dtype.kind == "S", "classes_ are no names")
    _must(len(set(classes.tolist())) == classes.size, "classes_ has a class twice")


def _check_result(result: FitResult, affinity: str, d: int) -> None:
    _check_classes(result.classes)
    n, v, c = result.codes.size, result.placed.graph.n_vertices, result.classes.size
    _must(v > 0, "it has no vertices")
    _ints(result.codes, "codes", (n,), -1, c - 1)
    _whole(result.seed, "seed", 0)
    _whole(result.n_neighbors, "n_neighbors")
    _must(result.metric in ("euclidean", "cosine"), f"metric is {result.metric!r}")
    _shares(result.vertex_distributions, "vertex_distributions", (v, c))
    _shares(result.prior, "prior", (c,))
    _shares(result.distributions, "distributions", (n, c))
    _shape(result.vertex_reached, "vertex_reached", (v,))
    _shape(result.reached, "reached", (n,))
    _check_fitted_graph(result, affinity == PRECOMPUTED, n, v, d)
    solver = result.solver
    for name in ("objective", "dual_gap", "n_iter"):
        _number(getattr(solver, name), name, nan=True)
    _must(solver.history is not None and solver.solution is None and solver.basis is None, "its solver is none")
    for array in vars(solver.history).values():
        _shape(array, "history", (solver.history.iteration.size,))  # type: ignore[union-attr]
    _must((result.quality is None) == (result.average is None), "its quality does not go with its average")
    if result.quality is not None and result.average is not None:
        _check_quality(result.quality, n, c)
        _check_average(result.average, n, v, c, d)


def _check_fitted_graph(result: FitResult, is_ready_made: bool, n: int, v: int, d: int) -> None:
    """Check the graph, and what maps new examples to points: each step must give what the next one takes."""
    fitted, placed, space, points = result.fitted, result.placed, result.fitted.space, result.placed.points
    _ints(placed.vertex, "vertex", (n,), -1, v - 1)
    _number(placed.bandwidth, "bandwidth", nan=is_ready_made)
    _number(placed.recall, "recall", nan=True)
    if placed.order is not None:
        _ints(placed.order, "order", (v,), 0, v - 1)
    _must((points is None) == is_ready_made, "its affinity does not go with its points")
    if points is None:
        _must(v == n == d and space is None, f"a ready-made graph of {v} vertices has {n} examples")
        return
    _must(placed.bandwidth > 0 and placed.bandwidth**2 > 0, f"its bandwidth is {placed.bandwidth!r}")
    _must(isinstance(points, np.ndarray) or sp.issparse(points), "its points are none")
    values = points.data if sp.issparse(points) else points
    _must(values.dtype.type in (np.float32, np.float64), f"its points are of {values.dtype}")
    _inside(values, "points", -LARGEST, LARGEST)
    _must((result.average is None) == (space is None), "its space does not go with its average")
    if space is None:
        _shape(points, "points", (v, d))
        _must(fitted.is_sparse == sp.issparse(points), "its points are of another kind than its examples")
        return
    _must(not sp.issparse(points), "its points are a sparse matrix")
    k = _check_axes(space, d)
    if space.axes is not None:
        _must(not fitted.is_sparse or (space.center is None and space.scale is None), "its sparse space is centred")
    _shape(points, "points", (v, k))
    _shape(fitted.marks, "marks", (v,))
    _must(fitted.marks.dtype == np.int64, "its marks are none")


def _check_quality(found: LabelQuality, n: int, c: int) -> None:
    _floats(found.quality, "quality", (n,), -ROUNDING, 1 + ROUNDING, nan=True)
    _floats(found.held_out, "held_out", (n, c), -ROUNDING, 1 + ROUNDING, nan=True)
    _ints(found.suggested, "suggested", (n,), -1, c - 1)
    _ints(found.before, "before", (n,), -1, c - 1)
    _shape(found.listed, "listed", (n,))
    noise, calibration = found.noise, found.noise.calibration
    _floats(noise.matrix, "noise matrix", (c, c), nan=True)
    _floats(noise.class_rates, "noise rates", (c,), nan=True)
    for number in (found.graph_score, noise.rate, noise.doubt, *noise.interval):
        _number(number, "noise", nan=True)
    m = calibration.sharpness.size
    _must(m > 0, "its calibration is empty")
    _floats(calibration.sharpness, "sharpness", (m,), 0, 1e6)
    _floats(calibration.weights, "weights of the calibration", (m,), 0, 1)
    _must(float(np.sum(calibration.weights)) > 0, "its calibration has no weight")
    _floats(found.levels, "levels of sets", (None, 2), 0, 1 + ROUNDING)


def _check_average(average: AverageFit, n: int, v: int, c: int, d: int) -> None:
    columns = average.supported
    _ints(columns, "supported", (columns.size,), 0, c - 1)
    _must(columns.size > 1 and bool((np.diff(columns) > 0).all()), "its supported classes are not in order")
    _must(0 <= average.n_searched <= n, "its number of labels is none")
    _check_predictor(average.predictor, v, columns.size, d)
    _check_choices(average.choices, d)


def _check_axes(space: Space, d: int) -> int:
    """Check a space of d features, and return the number of its axes."""
    _check_scale(space, d)
    if space.axes is None:
        return d
    k = space.axes.shape[-1] if space.axes.ndim == 2 else 0
    _floats(space.axes, "axes", (d, k), -1 - ROUNDING, 1 + ROUNDING)
    return int(k)


def _check_choices(choices: Choices, d: int) -> None:
    """Check what a warm start fits again."""
    plan, spaces = choices.plan, choices.spaces
    _must(len(plan.members) > 0, "its plan is none")
    _floats(plan.weights, "weights of families", (len(plan.families),), 0, 1 + ROUNDING)
    for member in (*plan.members, choices.leading):
        _check_member(member, spaces)
    for space in spaces.values():
        _check_axes(space, d)
    _check_program(choices.program)
    if choices.estimated is not None:
        _number(choices.estimated.mean, "accuracy that is estimated", 0, 1)
        _number(choices.estimated.deviation, "deviation of the accuracy", 0, 1e100)


def _check_member(member: MemberConfig, spaces: Mapping[str, Space]) -> None:
    known = {FEATURES, "", *(spaces or (GIVEN,))}
    _must(member.family in FAMILIES, "a member has no family")
    _must(member.space in known and member.partner in known, "a member has no space")
    _whole(member.n_neighbors, "neighbours of a member", 0)
    for weight in (member.weight, member.fidelity):
        _number(weight, "a member", 0, 1e100)


def _check_program(program: ProgramConfig) -> None:
    _whole(program.n_components, "program_", 0)
    for number in (program.alpha, program.beta):
        if number is not None:
            _number(number, "program_", 0)


def _check_predictor(predictor: Predictor, v: int, c: int, d: int) -> None:
    """Check the models of the features: children come after their nodes, so that every walk ends."""
    models = predictor.models
    _must(len(predictor.names) == len(models) + 1, "its models have other names")
    _floats(predictor.weights, "weights of models", (len(models) + 1,), -1e100, 1e100)
    _floats(predictor.graph_scores, "scores of the graph", (v, c), -1e100, 1e100)
    for model in models:
        _must((model.center is None) == (model.scale is None), "one of its models has half a scale")
        _check_scale(model, d)
        if isinstance(model, LinearScores):
            _floats(model.coefficients, "coefficients", (d, c), -1e100, 1e100)
            _floats(model.mean, "mean", (c,), -1e100, 1e100)
        else:
            _check_forest(model, c, d)


def _check_forest(model: Forest, c: int, d: int) -> None:
    k, t = np.size(model.feature), np.size(model.roots)
    _must(k > 0 and t > 0, "its forest has no trees")
    _ints(model.roots, "roots", (t,), 0, k - 1)
    _ints(model.feature, "feature", (k,), -1, d - 1)
    _shape(model.threshold, "threshold", (k,))
    inner = model.feature >= 0
    for name, child in (("left", model.left), ("right", model.right)):
        _ints(child, name, (k,), 0, k - 1)
        _must(bool((child[inner] > np.flatnonzero(inner)).all()), f"{name} points back")
    _shares(model.votes, "votes", (k, c))


def _check_scale(model: Any, d: int) -> None:
    if model.center is not None:
        _floats(model.center, "center", (d,))
    if model.scale is not None:
        _shape(model.scale, "scale", (d,))
        _must(bool((model.scale >= 1e-150).all()), "scale is not positive")


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _shape(value: Any, name: str, shape: tuple[int | None, ...]) -> None:
    fits = len(value.shape) == len(shape) and all(b in (None, a) for a, b in zip(value.shape, shape, strict=True))
    _must(fits, f"{name} is of shape {value.shape}, not {shape}")


def _inside(value: Any, name: str, low: float, high: float, nan: bool = False) -> None:
    inside = (value >= np.float64(low)) & (value <= np.float64(high))  # single precision cannot hold the bounds
    _must(bool((inside | np.isnan(value) if nan else inside).all()), f"{name} has numbers beyond {low:g}..{high:g}")


def _floats(
    value: Any,
    name: str,
    shape: tuple[int | None, ...],
    low: float = -LARGEST,
    high: float = LARGEST,
    nan: bool = False,
) -> None:
    _shape(value, name, shape)
    _inside(value, name, low, high, nan)


def _shares(value: Any, name: str, shape: tuple[int, ...]) -> None:
    """Check probabilities: rows of them add up to 1."""
    _floats(value, name, shape, -ROUNDING, 1 + ROUNDING)
    _must(bool((np.abs(value.sum(axis=-1) - 1) <= 1e-3).all()), f"{name} does not add up to 1")


def _ints(value: Any, name: str, shape: tuple[int, ...], low: int, high: int) -> None:
    _shape(value, name, shape)
    _must(not value.size or bool(low <= value.min() <= value.max() <= high), f"{name} points beyond {low}..{high}")


def _number(value: Any, name: str, low: float = -LARGEST, high: float = LARGEST, nan: bool = False) -> None:
    is_number = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    _must(is_number and ((nan and bool(np.isnan(value))) or low <= value <= high), f"{name} is {value!r}")


def _whole(value: Any, name: str, low: int = 1) -> int:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    _must(is_whole and low <= value < MOST, f"{name} is {value!r}")
    return int(value)


def _texts(value: Any, name: str, n: int) -> None:
    _must(isinstance(value, list) and len(value) == n, f"{name} are not {n} texts")
    _must(all(isinstance(text, str) for text in value), f"{name} are not {n} texts")
