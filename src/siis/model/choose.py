"""Choose members and a leading graph on all examples or a sample, and score all examples with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from siis._types import Bools
from siis.engine import NUMPY, Engine
from siis.engine.types import Array
from siis.labels import VertexLabels
from siis.model.average import average
from siis.model.build import all_members, graph_members, planned_members
from siis.model.config import FOREST, GIVEN, GRAPH, SUM, MemberConfig, Plan
from siis.model.constraints import Constraints
from siis.model.forest import no_member
from siis.model.kernels import GRAPH_FIDELITY, GRAPHS
from siis.model.large import large_average
from siis.model.link import ExpectedAccuracy, MemberLabels
from siis.model.located import Located
from siis.model.members import Member
from siis.model.programs import ProgramConfig, program_configs
from siis.model.sample import draw_sample
from siis.model.score_set import ScoreSet
from siis.model.spaces import Space, spaces
from siis.model.tables import MEMBER_COLUMNS, member_table, summary
from siis.model.trees import Forest
from siis.model.vertices import Vertices
from siis.progress import Progress
from siis.result_table import Table

MOST_TRIED, MOST_LABELS, MOST_CLASSES = 3000, 1200, 64  # vertices, labels and classes with which everything is tried
MOST_DENSE, MOST_DENSE_LABELS = 5000, 2000  # with which the chosen members are fitted by factorisations
MOST_GRAPHS, MOST_OF_A_FAMILY = 2, 3  # graphs, and members of a family, of a plan for more vertices than are tried
USUAL_FIDELITY, USUAL_NEIGHBORS = 0.1, 10
FEW_LOST = 0.005  # of the vertices, which a leading graph may leave without a label


@dataclass(frozen=True, eq=False)
class Choices:
    """What is averaged, and the graph and the program to solve on it."""

    plan: Plan
    leading: MemberConfig  # the graph with the largest weight
    spaces: dict[str, Space]  # empty for a ready-made graph
    program: ProgramConfig
    members: Table  # everything that was tried
    summary: str  # what was averaged, in a sentence
    estimated: ExpectedAccuracy | None  # accuracy that halves of the labels estimate, where everything was tried

    @property
    def space(self) -> Space | None:
        """Space of the leading graph; None for a ready-made graph."""
        return self.spaces.get(self.leading.space)


def choose_members(
    vertices: Vertices, constraints: Constraints, seed: int, progress: Progress, engine: Engine = NUMPY
) -> tuple[Choices, ScoreSet | None]:
    """Try everything on all vertices, or on a sample that keeps labels as thinly spread as they are.

    Returns scores of all vertices as well, where everything was tried on them.
    """
    X, given, verified = vertices.X, vertices.parts, vertices.verified
    is_graph, size = vertices.graph is not None, (X.shape[0], given.rows.size, given.n_classes)
    program = program_configs(constraints, given.n_classes)[0]
    if is_graph and not is_dense(*size):
        tried = tuple(MemberConfig(GRAPH, GIVEN, 0, GIVEN, fidelity=fidelity) for fidelity in GRAPH_FIDELITY)
        nothing = Table.from_rows([], MEMBER_COLUMNS)
        return Choices(Plan(tried, (GRAPH,), np.ones(1)), tried[1], {}, program, nothing, "", None), None
    is_whole = is_graph or is_tried_whole(*size)
    found = {} if is_graph else {space.name: space for space in spaces(X, constraints.space_metric, seed)}
    if not is_whole:
        sample = draw_sample(X, given, seed)
        X, given, verified = sample.X, sample.given, verified[sample.labels]
    labels, forests = member_labels(given, verified), dict[str, Forest]()
    with progress.stage("members" if is_graph else f"members: {len(found)} spaces"):
        if is_graph:
            members = graph_members(X, labels) if GRAPH in constraints.families else []
        else:
            graphs = graphs_of(constraints.n_neighbors, constraints.connectivity, X.shape[0])
            points = {name: space(X) for name, space in found.items()}
            members, forests = all_members(
                points, X, labels, graphs, constraints.bandwidth, seed, engine, constraints.families
            )
    if not members:
        raise no_member(constraints.families, labels)
    with progress.stage("average"):
        mean = average(members, labels, X.shape[0], seed, n_passes=None if is_whole else 1)
    plan = mean.ensemble.plan
    leading = leading_graph(members, plan, X.shape[0], {name: space.unit for name, space in found.items()})
    table = member_table(members, mean, labels)
    choices = Choices(plan, leading, found, program, table, summary(mean, labels), mean.estimated)
    if not is_whole:
        return replace(choices, plan=plan.shortened(MOST_GRAPHS, MOST_OF_A_FAMILY)), None
    splits = {config.splits for config in plan.members if config.family == FOREST}
    mean = replace(mean, forests={name: forest for name, forest in forests.items() if name in splits})
    return choices, ScoreSet.of(mean, labels)


def planned_scores(
    choices: Choices, vertices: Vertices, constraints: Constraints, seed: int, progress: Progress, engine: Engine
) -> ScoreSet | None:
    """Scores of all vertices by the members of a plan; None where these are too many for factorisations."""
    X, given = vertices.X, vertices.parts
    if not is_dense(X.shape[0], given.rows.size, given.n_classes):
        return None
    labels, plan, forests = member_labels(given, vertices.verified), choices.plan, dict[str, Forest]()
    with progress.stage(f"members: {len(plan.members)} chosen"):
        if vertices.graph is not None:
            members = [m for m in graph_members(X, labels) if m.config in plan.members]
        else:
            points = {name: space(X) for name, space in choices.spaces.items()}
            members, forests = planned_members(plan, points, X, labels, constraints.bandwidth, seed, engine)
    with progress.stage("average"):
        mean = average(members, labels, X.shape[0], seed, plan)
    return ScoreSet.of(replace(mean, forests=forests), labels)


def large_scores(
    choices: Choices,
    located: Located,
    verified: Bools,
    constraints: Constraints,
    seed: int,
    progress: Progress,
    engine: Engine,
    subspace: Array | None,
) -> ScoreSet:
    """Scores of more vertices, by their numbers on the graph: the leading graph and models of the features."""
    labels, X = member_labels(located.parts, verified), located.X
    leading = choices.plan.members if X is None else (choices.leading,)
    if {GRAPH, SUM}.isdisjoint(constraints.families):
        leading = ()
    W, points = located.graph.weights, located.fitted.placed.points
    with progress.stage("evidence"):
        mean = large_average(choices.plan, leading, W, points, X, located.parts, labels, seed, engine, subspace)
    known = [expected for expected in (mean.estimated, choices.estimated) if expected is not None]
    best = max(known, key=lambda expected: expected.mean, default=None)
    return ScoreSet.of(replace(mean, estimated=best), labels)


def member_labels(parts: VertexLabels, verified: Bools) -> MemberLabels:
    """Given (vertex, label) pairs as labels for members; the only label of a class cannot be judged."""
    counts = parts.counts / max(float(parts.counts.mean()), 1.0)
    of_class = np.bincount(parts.codes, minlength=parts.n_classes)
    return MemberLabels(parts.rows, parts.Y, parts.normalized_weights, counts, verified, of_class[parts.codes] > 1)


def graphs_of(n_neighbors: int | str, connectivity: str, n: int) -> list[tuple[int, str]]:
    """Graphs to try, (neighbours, connectivity); what is not "auto" is kept."""
    wanted = list(GRAPHS)
    if n_neighbors != "auto":
        kinds = ("mutual", "union") if connectivity == "auto" else (connectivity,)
        wanted = [(int(n_neighbors), each) for each in kinds]
    elif connectivity != "auto":
        wanted = list(dict.fromkeys((k, connectivity) for k, _ in GRAPHS))
    return list(dict.fromkeys((min(k, n - 1), kind) for k, kind in wanted))


def leading_graph(members: Sequence[Member], plan: Plan, n: int, is_unit: Mapping[str, bool]) -> MemberConfig:
    """The graph of an average whose best member has the largest likelihood, with the fidelity of that member.

    Graphs on which clearly fewer vertices are connected to a label are passed over where there are others; and so are
    spaces in which all examples have unit length, by ``is_unit``: what is far from all others is not seen there.
    """
    alone = [m for m in members if m.family == GRAPH] or [m for m in members if m.family == SUM]
    if not alone:  # one vertex, or graphs are left out
        k = min(USUAL_NEIGHBORS, n - 1)
        return MemberConfig(GRAPH, next(iter(is_unit), GIVEN), k, GRAPHS[-1][1], fidelity=USUAL_FIDELITY)
    in_plan = {c.graph for c in plan.members if c.family in (GRAPH, SUM)}
    reach = {m.config.graph: _reached(m) for m in alone if m.config.graph in in_plan or not in_plan}
    far = {graph for graph, share in reach.items() if share >= max(reach.values()) - FEW_LOST}
    far = {graph for graph in far if not is_unit.get(graph[0])} or far
    best = max((m for m in alone if m.config.graph in far), key=lambda m: m.link.score).config
    return replace(best, family=GRAPH, weight=0.0, partner="")


def _reached(member: Member) -> float:
    """Share of the vertices that are connected to a label."""
    assert member.kernel is not None
    return float(np.mean(member.kernel.terms[0][1].max(axis=1) > 0))


def is_tried_whole(n: int, n_labels: int, n_classes: int) -> bool:
    """Whether everything is tried on all examples."""
    return n <= MOST_TRIED and n_labels <= MOST_LABELS and n_classes <= MOST_CLASSES


def is_dense(n: int, n_labels: int, n_classes: int) -> bool:
    """Whether members are fitted to all examples by factorisations."""
    return n <= MOST_DENSE and n_labels <= MOST_DENSE_LABELS and n_classes <= MOST_CLASSES
