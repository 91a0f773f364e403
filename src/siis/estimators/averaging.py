"""The average of a fit: chosen on distinct examples, computed for all of them, and kept for new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siis._types import Bools, Floats
from siis.engine import NUMPY, Engine
from siis.engine.rows import evenly
from siis.engine.types import Array
from siis.estimators.evidence import Evidence, Located
from siis.estimators.pooling import Model, Voices, neighbor_means
from siis.estimators.vertices import Vertices
from siis.evidence import Space, as_distributions, read, softmax, spaces
from siis.experts import Forest, Pool, linear_scores
from siis.labels import VertexLabels
from siis.model.average import Average, Plan, all_members, average, graph_members, planned_members
from siis.model.forest import no_member
from siis.model.kernels import FEATURES, FOREST, GIVEN, GRAPH, GRAPH_FIDELITY, KERNEL, SHIFT, SUM, Choice
from siis.model.large import LargeAverage, large_average
from siis.model.link import ExpectedAccuracy, Labels
from siis.model.members import Member, centred, unlabelled_rows
from siis.model.plan import TOO_FEW, graphs_of, is_dense, is_tried_whole, labels_of, leading_graph
from siis.model.sizes import class_offsets, equal_confidence, mean_probabilities
from siis.program import Program
from siis.progress import Progress
from siis.result_table import Table
from siis.selection import BOTH, Candidate, Constraints, Selection, Solved, program_candidates
from siis.selection.part import searched_part

MOST_GRAPHS, MOST_OF_A_FAMILY = 2, 3  # graphs, and members of a family, of a plan for more vertices than are tried
TOGETHER, PROGRAM = "together", "program"
NEIGHBORS = "neighbours"  # answers of the neighbours on the graph, of whatever members
LINEAR = "linear model"
EXPERTS = ("expert", "weight", "accuracy")
MOST_SEEN = 1500  # unlabelled vertices by which scores are calibrated
MOST_COMPARED = 5000  # vertices by which weights for new examples are fitted
MOST_CLASSES = 64  # up to which models of the features answer for new examples
COLUMNS = (
    "member",
    "space",
    "n_neighbors",
    "connectivity",
    "kernel_weight",
    "fidelity",
    "log_likelihood",
    "accuracy",
    "error",
    "weight",
    "chosen",
)


@dataclass(frozen=True, eq=False)
class Choices:
    """What is averaged, and the graph on which the program is solved.

    Attributes
    ----------
    plan : Plan
    leading : Choice
        The graph with the largest weight.
    spaces : tuple of Space
        By their numbers; empty for a ready-made graph.
    selection : Selection
        The leading graph, its space and the table of everything that was tried.
    estimated : ExpectedAccuracy or None
        Accuracy that halves of the labels estimate, where everything was tried.
    """

    plan: Plan
    leading: Choice
    spaces: tuple[Space, ...]
    selection: Selection
    estimated: ExpectedAccuracy | None


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of an average.

    Attributes
    ----------
    final : ndarray of shape (n_vertices, c)
    held_out : ndarray of shape (l, c)
        Of each part of the labels.
    judged : ndarray of bool, shape (l,)
        Whether it could be held out.
    sharpness : float
        Mean sharpness of these scores.
    estimated : ExpectedAccuracy or None
        Accuracy that halves of the labels estimate.
    forests : dict of str to Forest
        By the kind of their trees.
    experts : Table
        Families, their weights and held-out accuracy.
    reason : str
        What was averaged, in a sentence.
    """

    final: Floats
    held_out: Floats
    judged: Bools
    sharpness: float
    estimated: ExpectedAccuracy | None
    forests: dict[str, Forest]
    experts: Table
    reason: str

    @classmethod
    def of(cls, mean: Average | LargeAverage, labels: Labels, forests: dict[str, Forest]) -> Scores:
        """Of an average on all vertices."""
        return cls(
            mean.scores,
            mean.held_out,
            labels.judged,
            mean.link.mean_sharpness,
            mean.estimated,
            forests,
            _experts(mean, labels),
            _reason(mean, labels),
        )


def choose_average(
    vertices: Vertices, constraints: Constraints, seed: int, progress: Progress, engine: Engine = NUMPY
) -> tuple[Choices, Scores | None]:
    """Try everything on all vertices, or on a sample that keeps labels as thinly spread as they are.

    Returns
    -------
    Choices
    Scores or None
        Of all vertices, where everything was tried on them.
    """
    X, given, verified = vertices.X, vertices.parts, vertices.verified
    is_graph, size = vertices.graph is not None, (X.shape[0], given.rows.size, given.n_classes)
    if is_graph and not is_dense(*size):
        return _given_graph(vertices, constraints), None
    is_whole = is_graph or is_tried_whole(*size)
    found = () if is_graph else tuple(spaces(X, constraints.family, seed))
    if not is_whole:
        part = searched_part(X, given, seed)
        X, given, verified = part.X, part.given, verified[part.labels]
    labels = labels_of(given, verified)
    with progress.stage("members" if is_graph else f"members: {len(found)} spaces"):
        forests: dict[str, Forest] = {}
        if is_graph:
            members = graph_members(X, labels) if GRAPH in constraints.families else []
        else:
            graphs = graphs_of(constraints.n_neighbors, constraints.connectivity, X.shape[0])
            points = [space(X) for space in found]
            members, forests = all_members(
                points, X, labels, graphs, constraints.bandwidth, seed, engine, constraints.families
            )
    if not members:
        raise no_member(constraints.families, labels)
    with progress.stage("average"):
        mean = average(members, labels, X.shape[0], seed)
    plan = Plan(tuple(m.choice for m in mean.pool.members), mean.pool.families, mean.pool.weights)
    leading = leading_graph(members, mean, X.shape[0], [k for k, space in enumerate(found) if space.unit])
    table = _table(found, members, mean, labels)
    selection = _selection(found, leading, table, _reason(mean, labels), constraints, vertices.pairs)
    choices = Choices(plan, leading, found, selection, mean.estimated)
    if not is_whole:
        return replace(choices, plan=short_plan(plan, mean)), None
    chosen = {choice.kind for choice in plan.choices if choice.family == FOREST}
    forests = {kind: forest for kind, forest in forests.items() if kind in chosen}
    return choices, Scores.of(mean, labels, forests)


def short_plan(plan: Plan, mean: Average) -> Plan:
    """The plan with its best members of each family, on its leading graphs: each graph needs a factorisation."""
    weight: dict[tuple[int, int, str], float] = {}
    for choice, share in zip(plan.choices, mean.pool.shares, strict=True):
        if choice.family in (GRAPH, SUM):
            graph = choice.space, choice.n_neighbors, choice.kind
            weight[graph] = weight.get(graph, 0.0) + share
    graphs = sorted(weight, key=lambda graph: -weight[graph])[:MOST_GRAPHS]
    kept = [c for c in plan.choices if c.family not in (GRAPH, SUM) or (c.space, c.n_neighbors, c.kind) in graphs]
    choices = [c for f in plan.families for c in [c for c in kept if c.family == f][:MOST_OF_A_FAMILY]]
    families = [f for f in plan.families if any(c.family == f for c in choices)]
    weights = np.array([w for f, w in zip(plan.families, plan.weights, strict=True) if f in families])
    return Plan(tuple(choices), tuple(families), weights / weights.sum())


def planned_scores(
    choices: Choices, vertices: Vertices, constraints: Constraints, seed: int, progress: Progress, engine: Engine
) -> Scores | None:
    """Scores of all vertices by the members of a plan; None where these are too many for factorisations."""
    X, given = vertices.X, vertices.parts
    if not is_dense(X.shape[0], given.rows.size, given.n_classes):
        return None
    labels = labels_of(given, vertices.verified)
    with progress.stage(f"members: {len(choices.plan.choices)} chosen"):
        forests: dict[str, Forest] = {}
        if vertices.graph is not None:
            members = [m for m in graph_members(X, labels) if m.choice in choices.plan.choices]
        else:
            points = [space(X) for space in choices.spaces]
            members, forests = planned_members(choices.plan, points, X, labels, constraints.bandwidth, seed, engine)
    with progress.stage("average"):
        mean = average(members, labels, X.shape[0], seed, choices.plan)
    return Scores.of(mean, labels, forests)


def large_scores(
    choices: Choices,
    located: Located,
    verified: Bools,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine,
    subspace: Array | None,
) -> Scores:
    """Scores of more vertices, by their numbers on the graph: the leading graph and models of the features."""
    placed, labels = located.placed, labels_of(located.parts, verified)
    leading = choices.plan.choices if located.X is None else (choices.leading,)
    if {GRAPH, SUM}.isdisjoint(constraints.families):
        leading = ()
    with progress.stage("evidence"):
        mean = large_average(
            choices.plan,
            leading,
            placed.graph.weights,
            placed.points,
            located.X,
            located.parts,
            labels,
            seed,
            engine,
            subspace,
        )
    known = [expected for expected in (mean.estimated, choices.estimated) if expected is not None]
    return replace(Scores.of(mean, labels, mean.forests), estimated=max(known, key=lambda e: e.mean, default=None))


def in_order(scores: Scores, located: Located) -> Scores:
    """The same by the numbers that vertices have on the graph."""
    order = located.placed.order
    return scores if order is None else replace(scores, final=scores.final[order])


def averaged_evidence(
    choices: Choices, located: Located, scores: Scores, vertices: Vertices, is_sparse: bool
) -> Evidence:
    """The average as evidence at every vertex, on which the program is solved."""
    rows = np.flatnonzero(vertices.by_example(scores.judged[:, None].astype(np.float64)))
    return Evidence(
        located.placed,
        located.pairs,
        located.given,
        choices.selection,
        softmax(scores.final),
        rows,
        vertices.by_example(scores.held_out)[rows],
        None,
        1.0,
        located.marks,
        is_sparse,
    )


def program_weight(choices: Choices) -> float:
    """Weight of the program: what families of graphs have, shared with them evenly."""
    families = zip(choices.plan.families, choices.plan.weights.tolist(), strict=True)
    of_graphs = [weight for family, weight in families if family in (GRAPH, SUM)]
    return float(sum(of_graphs)) / (1 + len(of_graphs))


def with_program(scores: Scores, solved: Solved, n_classes: int, weight: float) -> tuple[Scores, float]:
    """The average, and the program that has smoothed it; and its weight, 0 where it has fewer columns than classes.

    The program's soft labels are standardised, and offset so that each class has the mean probability that the
    average gives it.
    """
    Z, a = scores.final, scores.sharpness
    readings = _readings(solved.program, solved.solution.coefficients, n_classes)
    if readings is None:
        return scores, 0.0
    P = _unit(centred(readings)) * (float(Z.std()) or 1.0)
    P += class_offsets(P, mean_probabilities(Z, a), a).astype(P.dtype)
    both = centred(weight * P + (1 - weight) * Z)
    return replace(scores, final=np.asarray(both * equal_confidence(both, Z, a), Z.dtype)), weight


def with_shares(scores: Scores, shares: Floats | None) -> Scores:
    """Scores offset so that the mean probabilities of the classes are known shares.  (D7)"""
    if shares is None:
        return scores
    offsets = class_offsets(scores.final, shares, scores.sharpness)
    final = scores.final + offsets.astype(scores.final.dtype)
    return replace(scores, final=final, held_out=scores.held_out + offsets)


def expected_accuracy(scores: Scores, located: Located) -> tuple[Floats, ExpectedAccuracy] | None:
    """Scores of some unlabelled vertices, all where there are none, and the accuracy that is estimated there."""
    if scores.estimated is None:
        return None
    rows = unlabelled_rows(len(scores.final), located.parts.rows, MOST_SEEN)
    return np.asarray(scores.final[rows], dtype=np.float64), scores.estimated


def _readings(program: Program, A: Array, n_classes: int) -> Floats | None:
    """Standardised soft labels of a solved program; None where it has fewer columns than there are classes."""
    F = program.engine.numpy(program.basis.synthesize(A))
    if F.shape[1] not in (1, n_classes):
        return None
    return read(as_distributions(F, n_classes), "standardized")


def voices_of(choices: Choices, scores: Scores, located: Located) -> Voices:
    """Who answers for new examples: neighbours, and the models of the features that have a part in the average.

    Weights are those by which they reproduce the scores of the vertices, each from its neighbours alone.
    """
    W, X, final = located.placed.graph.weights, located.X, scores.final
    names: list[str] = [NEIGHBORS]
    models: list[Model] = []
    if X is not None:
        for kind, forest in scores.forests.items():
            names.append(f"forest, {kind}")
            models.append(forest)
        if KERNEL in choices.plan.families and final.shape[1] <= MOST_CLASSES and located.parts.rows.size > 1:
            model = linear_scores(X, located.parts)[2]
            assert model is not None
            names.append(LINEAR)
            models.append(model)
    if not models or X is None:
        return Voices(Pool(tuple(names), np.ones(1)), (), final)
    rows = evenly(len(final), MOST_COMPARED)
    told = [neighbor_means(W, final, rows), *(centred(model(X[rows])) for model in models)]
    A = np.stack([np.asarray(t, dtype=np.float64).ravel() for t in told], axis=1)
    gram = A.T @ A
    gram[np.diag_indices_from(gram)] += 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-300)
    weights = np.linalg.solve(gram, A.T @ np.asarray(final[rows], dtype=np.float64).ravel())
    return Voices(Pool(tuple(names), weights), tuple(models), final)


def _given_graph(vertices: Vertices, constraints: Constraints) -> Choices:
    """A ready-made graph of many vertices: all fidelities, equally."""
    tried = tuple(Choice(GRAPH, 0, 0, GIVEN, fidelity=fidelity) for fidelity in GRAPH_FIDELITY)
    plan = Plan(tried, (GRAPH,), np.ones(1))
    selection = _selection((), tried[1], Table.from_rows([], COLUMNS), "", constraints, vertices.pairs)
    return Choices(plan, tried[1], (), selection, None)


def _selection(
    found: Sequence[Space], leading: Choice, table: Table, reason: str, constraints: Constraints, pairs: VertexLabels
) -> Selection:
    """The leading graph and its space, with the table of everything that was tried."""
    space = found[leading.space] if found else None
    name, K = (space.name if space else GIVEN), leading.n_neighbors
    candidate = Candidate(name, 0.0, K, leading.kind, leading.fidelity, SHIFT, "standardized")
    chosen = program_candidates(candidate, constraints, pairs.n_classes)[0]
    nothing = np.zeros((0, pairs.n_classes))
    return Selection(chosen, space, 1.0, None, table, reason, np.zeros(0, np.int64), nothing, pairs.prior, BOTH)


def _table(found: Sequence[Space], members: Sequence[Member], mean: Average, labels: Labels) -> Table:
    """Everything that was tried, best first."""
    weight = {id(m): share for m, share in zip(mean.pool.members, mean.pool.shares, strict=True)}
    rows: list[dict[str, Any]] = []
    for m in sorted(members, key=lambda m: -m.link.score):
        accuracy, error = _accuracy(m.held_out, labels)
        choice = m.choice
        rows.append(
            {
                "member": choice.family if choice.family != FOREST else f"forest, {choice.kind}",
                "space": _space_name(found, choice),
                "n_neighbors": choice.n_neighbors,
                "connectivity": choice.kind if choice.family != FOREST else "",
                "kernel_weight": choice.weight,
                "fidelity": choice.fidelity,
                "log_likelihood": m.link.score,
                "accuracy": accuracy,
                "error": error,
                "weight": weight.get(id(m), 0.0),
                "chosen": id(m) in weight,
            }
        )
    return Table.from_rows(rows, COLUMNS)


def _space_name(found: Sequence[Space], choice: Choice) -> str:
    if not found:
        return GIVEN
    return "features" if choice.space == FEATURES else found[choice.space].name


def _accuracy(held_out: Floats, labels: Labels) -> tuple[float, float]:
    """Share of the held-out labels that are predicted, and its standard error."""
    votes = np.where(labels.judged, labels.votes, 0.0)
    if not votes.any():
        return float("nan"), float("nan")
    hit = labels.Y[np.arange(votes.size), held_out.argmax(axis=1)]
    share = float(votes @ hit / votes.sum())
    return share, float(np.sqrt(max(share * (1 - share), 0.0) * np.sum((votes / votes.sum()) ** 2)))


def _reason(mean: Average | LargeAverage, labels: Labels) -> str:
    """What gave the answers, in a sentence."""
    if not labels.judged.any():
        return TOO_FEW
    weights = zip(mean.pool.families, mean.pool.weights.tolist(), strict=True)
    parts = ", ".join(f"{family} {weight:.0%}" for family, weight in weights)
    accuracy, _ = _accuracy(mean.held_out, labels)
    return (
        f"average of {len(mean.pool.members)} members that predict held-out labels about as well as the best "
        f"({parts}); together they predict {accuracy:.1%} of the held-out given labels"
    )


def _experts(mean: Average | LargeAverage, labels: Labels) -> Table:
    """Families with their weights and the share of held-out labels that each predicts; last, all together."""
    rows = []
    for family, weight in zip(mean.pool.families, mean.pool.weights.tolist(), strict=True):
        some = [m.link.logarithms(m.held_out) for m in mean.pool.members if m.family == family]
        rows.append({"expert": family, "weight": weight, "accuracy": _accuracy(np.mean(some, axis=0), labels)[0]})
    together = {"expert": TOGETHER, "weight": float("nan"), "accuracy": _accuracy(mean.held_out, labels)[0]}
    return Table.from_rows([*rows, together], EXPERTS)


def with_weight(experts: Table, weight: float) -> Table:
    """The families with the program among them."""
    rows = experts.rows()
    for row in rows[:-1]:
        row["weight"] = float(row["weight"]) * (1 - weight)
    program = {"expert": PROGRAM, "weight": weight, "accuracy": float("nan")}
    return Table.from_rows([*rows[:-1], program, rows[-1]], EXPERTS)


def _unit(scores: Floats) -> Floats:
    return np.asarray(scores / (float(scores.std()) or 1.0))
