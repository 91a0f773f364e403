"""What must hold of a model from a file before any of it is used.

Compiled loops and SciPy follow indices without looking. So whatever they are given is checked here: kinds and shapes
of arrays, indices that exist, numbers that stay numbers when they are squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from siis.estimators.classifier import JUDGED, SIISClassifier
from siis.graph import Graph, NeighborGraph
from siis.model.choose import Choices
from siis.model.config import FEATURES, FOREST, GIVEN, GRAPH, KERNEL, SUM, MemberConfig, Plan
from siis.model.linear import LinearScores
from siis.model.link import ExpectedAccuracy
from siis.model.located import FittedGraph
from siis.model.predictor import Predictor
from siis.model.programs import ProgramConfig
from siis.model.spaces import Space
from siis.model.trees import Forest
from siis.parameters import check_parameters, seed_of
from siis.program.solvers.solution import History
from siis.quality import Calibration
from siis.result_table import Table

LARGEST = 1e153  # beyond, squares leave double precision
MOST = 2**62
ROUNDING = 1e-6  # of probabilities
FAMILIES = (GRAPH, KERNEL, SUM, FOREST)
KINDS: dict[str, tuple[type, ...]] = {"f": (np.float32, np.float64), "i": (np.int32, np.int64), "b": (np.bool_,)}
PRECOMPUTED = "precomputed"
COMPANIONS = ("source", "ids", "given", "verified", "snippets", "recipe", "recipe_arrays", "id_column")
OURS = {"recipe", "recipe_arrays", "id_column"}  # with these, siis fit has saved the model


def check_state(state: Any) -> None:
    """Check the attributes of a classifier; missing parameters get their defaults."""
    _must(isinstance(state, dict), "it holds no model")
    parameters = SIISClassifier().get_params()
    for name, default in parameters.items():
        state.setdefault(name, default)
    strange = [name for name in state if name not in parameters and hasattr(SIISClassifier, name)]
    _must(set(strange) <= {"_unreached", "_seed"}, f"it sets {', '.join(strange)}")
    check_parameters(SIISClassifier(**{name: state[name] for name in parameters}), SIISClassifier._rules)
    for name in ("_unreached", "neighbor_search_", "average_summary_"):
        _must(isinstance(state.get(name, ""), str), f"{name} is no text")
    graph, vertex, classes = _needed(state, "graph_", Graph), _needed(state, "vertex_"), _needed(state, "classes_")
    _check_classes(classes)
    if "_given_codes" in state:  # all that older files have
        state.setdefault("_codes", state["_given_codes"])
    state.setdefault("_seed", seed_of(state["random_state"]))
    v, c = graph.n_vertices, classes.size
    _must(v > 0, "it has no vertices")
    n = vertex.size
    _ints(vertex, "vertex_", (n,), -1, v - 1)
    if "_codes" in state:
        _ints(state["_codes"], "_codes", (n,), -1, c - 1)
    _must(isinstance(state["_seed"], int) and 0 <= state["_seed"] < MOST, "its seed is no number")
    d = _whole(_needed(state, "n_features_in_"), "n_features_in_")
    _check_answers(state, n, v, c)
    _check_points(state, v, n, d)
    _check_figures(state, d)
    if any(name in state for name in JUDGED):
        _check_judged(state, n, v, c, d)
    elif state["affinity"] != PRECOMPUTED:
        _must(state["_points"].shape[1] == d, f"its points have {state['_points'].shape[1]} features, not {d}")


def check_extra(extra: Any, state: Mapping[str, Any]) -> None:
    """Check what siis fit stores with a model; what others have stored is not checked."""
    _must(isinstance(extra, dict), "it holds no companions of a model")
    if not OURS & set(extra):
        return
    missing = [name for name in COMPANIONS if name not in extra]
    _must(not missing, f"it lacks {', '.join(missing)}")
    n = state["vertex_"].size
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
    _array(extra["verified"], "verified", "b", (n,))
    given = extra["given"]
    _must(isinstance(given, np.ndarray) and given.dtype == object and given.shape == (n,), "given are no labels")
    _must(all(isinstance(label, str | None) for label in given), "given are no labels")
    if extra["recipe"] is not None:
        from siis.tables import Recipe  # noqa: PLC0415  (heavy)

        found, d = (
            Recipe.from_plain(extra["recipe"], extra["recipe_arrays"]).encoder.n_features,
            state["n_features_in_"],
        )
        _must(found == d, f"its recipe gives {found} features, and the model takes {d}")
        for name, array in extra["recipe_arrays"].items():
            _must(bool((np.abs(array) <= LARGEST).all()), f"{name} of its recipe are too large")


def _check_classes(classes: Any) -> None:
    _must(isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size > 0, "classes_ are none")
    plain = all(isinstance(name, str | bool | int | float) for name in classes.tolist())
    _must(plain or classes.dtype.kind == "S", "classes_ are no names")
    _must(len(set(classes.tolist())) == classes.size, "classes_ has a class twice")


def _check_answers(state: Mapping[str, Any], n: int, v: int, c: int) -> None:
    _shares(_needed(state, "_answers"), "_answers", (v, c))
    _shares(_needed(state, "_prior"), "_prior", (c,))
    _shares(_needed(state, "label_distributions_"), "label_distributions_", (n, c))
    _array(_needed(state, "_reached"), "_reached", "b", (v,))
    _array(_needed(state, "is_reached_"), "is_reached_", "b", (n,))
    if "transduction_" in state:
        winners = state["classes_"][np.argmax(state["label_distributions_"], axis=1)]
        _must(np.array_equal(state["transduction_"], winners), "transduction_ are not the likeliest classes")


def _check_points(state: Mapping[str, Any], v: int, n: int, d: int) -> None:
    points, width = _needed(state, "_points"), _needed(state, "bandwidth_")
    _whole(_needed(state, "_n_neighbors"), "_n_neighbors")
    _must((points is None) == (state["affinity"] == PRECOMPUTED), "its affinity does not go with its points")
    if points is None:
        _number(width, "bandwidth_", nan=True)
        _must(v == n == d, f"a ready-made graph of {v} vertices has {n} examples")
        return
    _number(width, "bandwidth_", 0, LARGEST)
    _must(width * width > 0, f"its bandwidth is {width!r}")
    if sp.issparse(points):
        _must(points.shape == (v, d), f"its points have shape {points.shape}, not {(v, d)}")
        _floats(points.data, "_points", (points.nnz,))
    else:
        _floats(points, "_points", (v, None))


def _check_figures(state: Mapping[str, Any], d: int) -> None:
    for name in ("objective_", "dual_gap_", "neighbor_recall_", "largest_class_share_", "largest_given_share_"):
        if name in state:
            _number(state[name], name, nan=True)
    if "n_iter_" in state:
        _whole(state["n_iter_"], "n_iter_", 0)
    if "history_" in state:
        history = _needed(state, "history_", History)
        size = np.size(history.iteration)
        _array(history.iteration, "history_", "i", (size,))
        for name in ("objective", "dual_objective", "relative_gap", "change"):
            _array(getattr(history, name), "history_", "f", (size,))
    if "feature_names_in_" in state:
        names = state["feature_names_in_"]
        _must(
            isinstance(names, np.ndarray) and names.shape == (d,), "feature_names_in_ are not those of its features"
        )
        _must(all(isinstance(name, str) for name in names.tolist()), "feature_names_in_ are no names")


def _check_judged(state: Mapping[str, Any], n: int, v: int, c: int, d: int) -> None:
    for name in JUDGED:
        _needed(state, name)
    _floats(state["label_quality_"], "label_quality_", (n,), -ROUNDING, 1 + ROUNDING, nan=True)
    _floats(state["held_out_distributions_"], "held_out_distributions_", (n, c), -ROUNDING, 1 + ROUNDING, nan=True)
    _floats(state["noise_matrix_"], "noise_matrix_", (c, c), nan=True)
    _floats(state["class_noise_rates_"], "class_noise_rates_", (c,), nan=True)
    _ints(state["_given_codes"], "_given_codes", (n,), -1, c - 1)
    _ints(state["_suggested"], "_suggested", (n,), -1, c - 1)
    for name in ("noise_rate_", "graph_score_"):
        _number(state[name], name, nan=True)
    interval = state["noise_interval_"]
    _must(isinstance(interval, tuple) and len(interval) == 2, "noise_interval_ is none")
    for end in interval:
        _number(end, "noise_interval_", nan=True)
    _check_table(state["members_"], "members_")
    _array(state["_listed"], "_listed", "b", (n,))
    columns = _needed(state, "_supported")
    _ints(columns, "_supported", (np.size(columns),), 0, c - 1)
    _must(columns.size > 1 and bool((np.diff(columns) > 0).all()), "its supported classes are not in order")
    _check_predictor(state["_predictor"], v, columns.size, d)
    calibration, levels = _needed(state, "_calibration", Calibration), state["_levels"]
    m = np.size(calibration.sharpness)
    _must(m > 0, "its calibration is empty")
    _floats(calibration.sharpness, "sharpness", (m,), 0, 1e6)
    _floats(calibration.weights, "weights of the calibration", (m,), 0, 1)
    _must(float(np.sum(calibration.weights)) > 0, "its calibration has no weight")
    _floats(levels, "levels of sets", (None, 2), 0, 1 + ROUNDING)
    _check_table(state["families_"], "families_")
    _check_table(state["class_shares_"], "class_shares_")
    _check_choices(state["_choices"], d)
    choices = state["_choices"]
    _check_member(state["leading_graph_"], choices.spaces)
    _check_program(state["program_"])
    if "_before_codes" in state:
        _ints(state["_before_codes"], "_before_codes", (n,), -1, c - 1)
    if "_judged" in state:  # what a warm start needs
        judged, n_searched = state["_judged"], state.get("_n_searched")
        _ints(judged, "held-out examples", (np.size(judged),), 0, n - 1)
        _must(isinstance(n_searched, int) and 0 <= n_searched <= n, "it does not say how many labels were searched")
        _must(isinstance(state.get("_settings"), str), "it does not say how it was searched")
    _check_fitted_graph(_needed(state, "_fitted_graph", FittedGraph), state, v, d)


def _check_fitted_graph(fitted: FittedGraph, state: Mapping[str, Any], v: int, d: int) -> None:
    """Check the graph, and what maps new examples to points: each step must give what the next one takes."""
    placed, space = fitted.placed, fitted.space
    _must(isinstance(placed, NeighborGraph) and isinstance(placed.graph, Graph), "its fitted graph is none")
    _must(placed.graph.n_vertices == v, "its fitted graph has other vertices than graph_")
    _must(np.array_equal(placed.vertex, state["vertex_"]), "its fitted graph has other vertices")
    _must(isinstance(fitted.is_sparse, bool), "is_sparse is neither true nor false")
    _must(isinstance(placed.search, str), "its neighbour search has no name")
    _number(placed.bandwidth, "bandwidth", nan=True)
    _number(placed.recall, "recall", nan=True)
    if placed.order is not None:
        _ints(placed.order, "order", (v,), 0, v - 1)
    if state["affinity"] == PRECOMPUTED:
        _must(placed.points is None, "its ready-made graph has points")
        return
    _must(not sp.issparse(state["_points"]), "its points are a sparse matrix")
    _must(np.array_equal(np.asarray(placed.points), state["_points"]), "its fitted graph has other points")
    k = _check_axes(space, d)
    assert space is not None
    if space.axes is not None:
        _must(not fitted.is_sparse or (space.center is None and space.scale is None), "its sparse space is centred")
    points = placed.points
    _must(points is not None and points.shape == (v, k), "its points are not those of its space")
    _must(fitted.marks.dtype == np.int64 and fitted.marks.shape == (v,), "its marks are none")


def _check_axes(space: Any, d: int) -> int:
    """Check a space of d features, and return the number of its axes."""
    _must(isinstance(space, Space) and isinstance(space.name, str), "one of its spaces is none")
    _must(isinstance(space.unit, bool) and isinstance(space.unit_after, bool), "one of its spaces is none")
    _check_scale(space, d)
    if space.axes is None:
        return d
    k = np.shape(space.axes)[-1] if np.ndim(space.axes) == 2 else 0
    _floats(space.axes, "axes", (d, k), -1 - ROUNDING, 1 + ROUNDING)
    return int(k)


def _check_choices(choices: Any, d: int) -> None:
    """Check what a warm start fits again."""
    _must(isinstance(choices, Choices), "its choices are none")
    plan, spaces = choices.plan, choices.spaces
    _must(isinstance(plan, Plan) and isinstance(plan.members, tuple) and len(plan.members) > 0, "its plan is none")
    _must(isinstance(plan.families, tuple) and isinstance(spaces, dict), "its plan has no families")
    _floats(plan.weights, "weights of families", (len(plan.families),), 0, 1 + ROUNDING)
    for member in (*plan.members, choices.leading):
        _check_member(member, spaces)
    for space in spaces.values():
        _check_axes(space, d)
    _check_program(choices.program)
    _check_table(choices.members, "members_")
    _must(isinstance(choices.summary, str), "its summary is no text")
    if choices.estimated is not None:
        _must(isinstance(choices.estimated, ExpectedAccuracy), "its accuracy is none")
        _number(choices.estimated.mean, "accuracy that is estimated", 0, 1)
        _number(choices.estimated.deviation, "deviation of the accuracy", 0, 1e100)


def _check_member(member: Any, spaces: Mapping[str, Any]) -> None:
    _must(isinstance(member, MemberConfig) and member.family in FAMILIES, "one of its members is none")
    _must(isinstance(member.connectivity, str) and isinstance(member.splits, str), "one of its graphs is none")
    _must(isinstance(member.is_balanced, bool), "one of its members has no scale")
    known = {FEATURES, "", *(spaces or (GIVEN,))}
    _must(member.space in known and member.partner in known, "a member has no space")
    _whole(member.n_neighbors, "neighbours of a member", 0)
    for weight in (member.weight, member.fidelity):
        _number(weight, "a member", 0, 1e100)


def _check_predictor(predictor: Any, v: int, c: int, d: int) -> None:
    """Check the models of the features: children come after their nodes, so that every walk ends."""
    _must(isinstance(predictor, Predictor), "its predictor is none")
    names, models = predictor.names, predictor.models
    _must(isinstance(models, tuple) and isinstance(names, tuple), "its predictor has no models")
    _must(all(isinstance(name, str) for name in names), "its models have no names")
    _must(len(names) == len(models) + 1, "its models have other names")
    _floats(predictor.weights, "weights of models", (len(models) + 1,), -1e100, 1e100)
    _floats(predictor.graph_scores, "scores of the graph", (v, c), -1e100, 1e100)
    for model in models:
        _must(isinstance(model, Forest | LinearScores), "one of its models is none")
        _must((model.center is None) == (model.scale is None), "one of its models has half a scale")
        if isinstance(model, LinearScores):
            _floats(model.coefficients, "coefficients", (d, c), -1e100, 1e100)
            _floats(model.mean, "mean", (c,), -1e100, 1e100)
            _check_scale(model, d)
        else:
            _check_forest(model, c, d)


def _check_forest(model: Any, c: int, d: int) -> None:
    _must(isinstance(model, Forest), "its forest is none")
    k, t = np.size(model.feature), np.size(model.roots)
    _must(k > 0 and t > 0, "its forest has no trees")
    _ints(model.roots, "roots", (t,), 0, k - 1)
    _ints(model.feature, "feature", (k,), -1, d - 1)
    _array(model.threshold, "threshold", "f", (k,))
    inner = model.feature >= 0
    for name, child in (("left", model.left), ("right", model.right)):
        _ints(child, name, (k,), 0, k - 1)
        _must(bool((child[inner] > np.flatnonzero(inner)).all()), f"{name} points back")
    _shares(model.votes, "votes", (k, c))
    _check_scale(model, d)


def _check_scale(model: Any, d: int) -> None:
    if model.center is not None:
        _floats(model.center, "center", (d,))
    if model.scale is not None:
        _array(model.scale, "scale", "f", (d,))
        _must(bool((model.scale >= 1e-150).all()), "scale is not positive")


def _check_program(program: Any) -> None:
    _must(isinstance(program, ProgramConfig) and isinstance(program.laplacian, str), "program_ is none")
    _whole(program.n_components, "program_", 0)
    for number in (program.alpha, program.beta):
        if number is not None:
            _number(number, "program_", 0)


def _check_table(table: Any, name: str) -> None:
    _must(isinstance(table, Table), f"{name} is no table")
    columns = list(table.values())
    _must(all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns), f"{name} is no table")
    _must(len({column.size for column in columns}) <= 1, f"{name} has columns of different lengths")


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _needed(state: Mapping[str, Any], name: str, kind: type = object) -> Any:
    _must(name in state, f"it lacks {name}")
    _must(isinstance(state[name], kind), f"{name} is no {kind.__name__}")
    return state[name]


def _array(value: Any, name: str, kind: str, shape: tuple[int | None, ...]) -> None:
    _must(isinstance(value, np.ndarray), f"{name} is no array")
    fits = len(value.shape) == len(shape) and all(b in (None, a) for a, b in zip(value.shape, shape, strict=True))
    _must(fits, f"{name} is of shape {value.shape}, not {shape}")
    _must(value.dtype.type in KINDS[kind], f"{name} is of {value.dtype}")


def _floats(
    value: Any,
    name: str,
    shape: tuple[int | None, ...],
    low: float = -LARGEST,
    high: float = LARGEST,
    nan: bool = False,
) -> None:
    _array(value, name, "f", shape)
    inside = (value >= np.float64(low)) & (value <= np.float64(high))  # single precision cannot hold the bounds
    _must(bool((inside | np.isnan(value) if nan else inside).all()), f"{name} has numbers beyond {low:g}..{high:g}")


def _shares(value: Any, name: str, shape: tuple[int, ...]) -> None:
    """Check probabilities: rows of them add up to 1."""
    _floats(value, name, shape, -ROUNDING, 1 + ROUNDING)
    _must(bool((np.abs(value.sum(axis=-1) - 1) <= 1e-3).all()), f"{name} does not add up to 1")


def _ints(value: Any, name: str, shape: tuple[int, ...], low: int, high: int) -> None:
    _array(value, name, "i", shape)
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
