"""The fit by default: average what predicts held-out labels, solve the program on it, assess the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from siis._types import Features, Floats, Ints
from siis.engine import Engine
from siis.engine.types import Array
from siis.errors import FAILURES, warn
from siis.estimators.lone import supported_classes, warn_of_lone_classes, with_lone_classes
from siis.estimators.prediction import with_examples
from siis.estimators.result import AverageFit, FitResult, LabelQuality, SolverResult
from siis.estimators.solving import Solver
from siis.estimators.warm import FALLEN_BEHIND, KEPT, OTHER_CLASSES, OTHER_EXAMPLES, PreviousFit
from siis.graph import Graph
from siis.labels import GivenLabels
from siis.labels.given_labels import known_class_shares
from siis.model.choose import Choices, choose_members, large_scores, planned_scores
from siis.model.constraints import Constraints
from siis.model.link import ExpectedAccuracy
from siis.model.located import Located, build_graph
from siis.model.predictor import Predictor, neighbor_means
from siis.model.programs import ProgramConfig, Solved, program_basis, program_configs, solve_first
from siis.model.score_set import ScoreSet, program_weight
from siis.model.scores import softmax
from siis.model.tables import TOO_FEW, with_program_weight
from siis.model.vertices import Vertices, merge_examples
from siis.program import Program
from siis.program.basis import SmoothBasis
from siis.program.solvers import Solution
from siis.progress import Progress
from siis.quality import Assessment, assess_labels, warn_about_labels
from siis.quality.listings import suspect_labels
from siis.quality.sets import coverage_levels, enough_rows
from siis.quality.shares import class_shares


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What a fit depends on, apart from its data."""

    constraints: Constraints
    class_prior: Any
    solver: Solver
    seed: int
    progress: Progress
    engine: Engine

    @property
    def of_search(self) -> str:
        """What the search for members depends on."""
        return f"{self.constraints!r}, seed {self.seed}, shares {self.class_prior!r}"


def constraints_of(model: Any) -> Constraints:
    """What the parameters of a classifier fix."""
    return Constraints(**{field.name: getattr(model, field.name) for field in fields(Constraints)})


def fit_default(
    X: Features, labels: GivenLabels, affinity: str, settings: FitSettings, previous: PreviousFit | None
) -> FitResult:
    """Fit to all classes but those of a single label, where others have many; these keep their label."""
    metric = settings.constraints.metric
    vertices = merge_examples(X, labels, metric, affinity)
    supported = supported_classes(vertices.parts)
    if supported.all() or settings.class_prior is not None:
        result, own = _fit_or_refit(vertices, labels, settings, previous)
    else:
        warn_of_lone_classes(labels, supported)
        some = labels.only(supported)
        result, own = _fit_or_refit(merge_examples(X, some, metric, affinity), some, settings, previous)
        result, own = with_lone_classes(result, own, labels, supported)
    return with_examples(result, X, labels, settings.engine, own)


def _fit_or_refit(
    vertices: Vertices, labels: GivenLabels, settings: FitSettings, previous: PreviousFit | None
) -> tuple[FitResult, Floats]:
    """The average, of a previous fit's choices where these still hold; listed labels stay until they are decided."""
    if previous is None:
        return _fit_average(vertices, labels, settings, None)
    result, before = None, None
    reason = previous.reason_to_search_again(vertices, labels, settings.of_search)
    if reason not in (OTHER_CLASSES, OTHER_EXAMPLES):
        before = previous.before
    if not reason:
        result, own = _fit_average(vertices, labels, settings, before, previous)
        assert result.quality is not None
        reason = FALLEN_BEHIND if previous.is_better(result.quality.held_out, labels) else ""
    if reason:
        settings.progress.say(1, f"everything is tried anew: {reason}")
        result, own = _fit_average(vertices, labels, settings, before)
    assert result is not None
    assert result.quality is not None
    listed = result.quality.listed | previous.still_listed(vertices, labels)
    return replace(result, quality=replace(result.quality, listed=listed)), own


def _fit_average(
    vertices: Vertices,
    labels: GivenLabels,
    settings: FitSettings,
    before: Ints | None,
    previous: PreviousFit | None = None,
) -> tuple[FitResult, Floats]:
    """Average what predicts held-out labels and solve the program on it; a previous fit's choices are kept.

    before, (n,): verified labels before they were checked, -1 where unknown. Returns the result and distributions of
    labelled examples, (l, c).
    """
    constraints, seed, progress, engine = settings.constraints, settings.seed, settings.progress, settings.engine
    if previous is None:
        choices, scores = choose_members(vertices, constraints, seed, progress, engine)
    else:
        choices, scores = previous.average.choices, None
    if scores is None:
        scores = planned_scores(choices, vertices, constraints, seed, progress, engine)
    if previous is None:
        fitted = build_graph(vertices, choices.leading, choices.space, constraints, seed, progress, engine)
    else:
        fitted = previous.result.fitted
    located = Located.of(fitted, vertices)
    known: dict[ProgramConfig, SmoothBasis | Exception] = {}
    if previous is not None and previous.result.solver.basis is not None:
        known[choices.program] = previous.result.solver.basis.on(engine)
    basis_of = _basis_of(located.graph, vertices.X, settings, known)
    if scores is None:
        subspace = _vectors(basis_of, choices.program)
        scores = large_scores(choices, located, vertices.verified, constraints, seed, progress, engine, subspace)
    else:
        scores = scores.in_order(located)
    start = None if previous is None else previous.result.solver.solution
    solved = _solve_program(located, scores, choices, settings, basis_of, start)
    summary = scores.summary + ("" if previous is None else KEPT)
    if solved.n_failed:
        summary += f"; of the programs, {solved.n_failed} failed on all examples, and the next was taken"
    expected = scores.expected_accuracy(located)
    scores, weight = scores.with_program(solved, labels.classes.size, program_weight(scores.families))
    scores = scores.with_shares(known_class_shares(settings.class_prior, labels.classes))
    scores = replace(scores, families=with_program_weight(scores.families, weight))
    choices = replace(choices, summary=summary, program=solved.config)
    predictor = scores.predictor(choices.plan, located)
    n_searched = np.count_nonzero(labels.used) if previous is None else previous.average.n_searched
    supported = np.arange(labels.classes.size)
    average = AverageFit(choices, scores.families, predictor, supported, int(n_searched), settings.of_search)
    return _with_quality(average, located, solved, scores, vertices, labels, settings, before, expected)


def _with_quality(
    average: AverageFit,
    located: Located,
    solved: Solved,
    scores: ScoreSet,
    vertices: Vertices,
    labels: GivenLabels,
    settings: FitSettings,
    before: Ints | None,
    expected: tuple[Floats, ExpectedAccuracy] | None,
) -> tuple[FitResult, Floats]:
    """Assess the labels by their scores while they were held out, and calibrate the answers."""
    which = np.flatnonzero(vertices.by_example(scores.judged[:, None].astype(np.float64)))
    held_out = vertices.by_example(scores.held_out)[which]
    before = np.where(labels.verified, -1 if before is None else before, labels.codes)
    fitted, given, placed = located.fitted, located.given, located.fitted.placed
    found = assess_labels(which, held_out, labels, placed.vertex, scores.final, before, expected)
    if which.size:
        warn_about_labels(found, given.codes, labels.classes)
    else:
        summary = average.choices.summary
        warn(f"{summary}." + (" Label two examples or more of each class." if summary == TOO_FEW else ""))
    levels = _levels_of_new(located, average.predictor, found, vertices, labels, which.size)
    quality = LabelQuality(
        found.quality,
        found.suggested,
        suspect_labels(found.quality, found.suggested != found.codes, found.noise.rate),
        before,
        found.held_out,
        found.noise,
        found.agreement.score,
        class_shares(which, placed.vertex, held_out, found, labels, settings.seed),
        found.levels if levels is None else levels,
    )
    basis = solved.program.basis
    assert isinstance(basis, SmoothBasis)
    reached, answers = located.graph.reached_from(given.rows), found.probabilities
    if placed.points is None:  # a ready-made graph: nothing is known where no label is connected
        answers[~reached] = given.prior
    result = FitResult(
        labels.classes,
        labels.codes,
        fitted,
        "euclidean",
        max(average.choices.leading.n_neighbors, 1),
        answers,
        reached,
        given.prior,
        settings.seed,
        SolverResult.of(solved.solution, basis.engine, basis),
        quality=quality,
        average=average,
    )
    return result, found.own


def _solve_program(
    located: Located,
    scores: ScoreSet,
    choices: Choices,
    settings: FitSettings,
    basis_of: Callable[[ProgramConfig], SmoothBasis],
    start: Solution | None,
) -> Solved:
    """Basis, program, solution; of the next program where the chosen one cannot be solved."""

    def solve(program: Program) -> Solution:
        with settings.progress.stage("solve") as report:
            return settings.solver(program, settings.progress, report, start)

    others = program_configs(settings.constraints, located.given.n_classes)
    configs = list(dict.fromkeys([choices.program, *others]))
    return solve_first(located.graph, softmax(scores.final), configs, settings.constraints, solve, basis_of)


def _basis_of(
    graph: Graph, X: Features, settings: FitSettings, known: dict[ProgramConfig, SmoothBasis | Exception]
) -> Callable[[ProgramConfig], SmoothBasis]:
    """Bases of programs, each computed once: labels are smoothed by the basis of the program, too."""
    dtype = np.float32 if X is not None and X.dtype == np.float32 else np.float64

    def basis_of(config: ProgramConfig) -> SmoothBasis:
        if config not in known:
            try:
                with settings.progress.stage("basis") as report:
                    known[config] = program_basis(graph, config, settings.seed, dtype, report, settings.engine)
            except FAILURES as failure:
                known[config] = failure
        if isinstance(found := known[config], Exception):
            raise found
        return found

    return basis_of


def _vectors(basis_of: Callable[[ProgramConfig], SmoothBasis], config: ProgramConfig) -> Array | None:
    """Vectors of the basis; None where it cannot be computed, and another program will be tried."""
    try:
        return basis_of(config).vectors
    except FAILURES:
        return None


def _levels_of_new(
    located: Located,
    predictor: Predictor,
    found: Assessment,
    vertices: Vertices,
    labels: GivenLabels,
    n_judged: int,
) -> Floats | None:
    """Levels of sets by unlabelled examples, predicted as if they were new; None where labels are more.  (C13)"""
    W, vertex = located.graph.weights, located.fitted.placed.vertex
    free = np.unique(vertex[~labels.used & (vertex >= 0)])
    if not free.size > n_judged > 0:
        return None
    rows = free[enough_rows(free.size, labels.classes.size)]
    if predictor.models:
        X = vertices.X if located.order is None else vertices.X[located.order]
        P = found.noise.probabilities(predictor.score_vertices(W, X, rows))
    else:
        P = neighbor_means(W, found.probabilities, rows)
    return coverage_levels(P, found.probabilities[rows], np.ones(rows.size))
