"""What the graph and the models of the features say together, of every vertex and of every held-out label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from siis._types import Features, Floats, Ints
from siis.estimators.evidence import Evidence, Located
from siis.evidence import as_scores
from siis.experts import Forest, LeafGraph, LinearScores, Pool, fit_pool, forest_scores, leaf_scores, linear_scores
from siis.experts.forest import LEAVES, MOST_COLUMNS, MOST_VOTES
from siis.experts.leaves import MOST_VERTICES
from siis.labels import Supervision
from siis.progress import Progress
from siis.quality import label_agreement
from siis.result_table import Table
from siis.selection import EVIDENCE, PROGRAM, Solved, final_readings
from siis.selection.candidate import compare, hits
from siis.selection.folds import deal_folds, splits
from siis.selection.shares import population_weights

GRAPH, LINEAR, TOGETHER = "graph", "linear model", "together"
LEAF_GRAPH = "graph of a forest's leaves"
Model: TypeAlias = Forest | LeafGraph | LinearScores
FORESTS = {f"forest, leaves of {leaf}": leaf for leaf in LEAVES}
CLEARLY = 1.5  # standard errors behind the best at which an expert is not heard
FAR = 3.0  # standard errors behind the graph at which a model is not worth to be asked to its end
HOPELESS = 6.0  # standard errors behind the graph at which others of its kind are not asked
LEAST_LABELS = 30  # below, a model of the features alone says nothing


@dataclass(frozen=True, eq=False)
class Voices:
    """Who is asked about an example, new or not.

    Attributes
    ----------
    pool : Pool
        The graph first, then the models.
    models : tuple of Forest, LeafGraph and LinearScores
    graph : ndarray of shape (n_vertices, c)
        What the graph says of the vertices.
    """

    pool: Pool
    models: tuple[Model, ...]
    graph: Floats

    def score(self, X: Features, graph: Floats) -> Floats:
        """Score new examples.

        Parameters
        ----------
        X : array or csr_array of shape (n, d)
        graph : ndarray of shape (n, c)
            What the graph says of them.

        Returns
        -------
        ndarray of shape (n, c)
        """
        return self.pool([graph, *(model(X) for model in self.models)])


@dataclass(frozen=True, eq=False)
class Pooled:
    """Class scores of all vertices and of held-out labels, by all voices together.

    Attributes
    ----------
    voices : Voices
    final : ndarray of shape (n_vertices, c)
    held_out : ndarray of shape (h, c)
    table : Table
        Experts, their weights, and the share of the held-out labels that each meets; last, of all together.
    """

    voices: Voices
    final: Floats
    held_out: Floats
    table: Table

    @property
    def words(self) -> str:
        """Who was heard, and how many of the held-out labels each meets, in a sentence."""
        rows = self.table.rows()
        if len(rows) == 2 or np.isnan(float(rows[-1]["accuracy"])):  # the graph alone
            return ""
        met = [f"{row['expert']} {float(row['accuracy']):.1%}" for row in rows[:-1] if float(row["weight"]) > 0]
        silent = [f"{row['expert']} {float(row['accuracy']):.1%}" for row in rows[:-1] if float(row["weight"]) == 0]
        said = f"held-out accuracy: {', '.join(met)}; combined "
        said += f"{float(rows[-1]['accuracy']):.1%}"
        if silent:
            said += f"; clearly lower and not used: {', '.join(silent)}"
        if float(rows[0]["weight"]) == 0:
            said += ". The graph is not used: models of the features alone are more accurate here"
        return said


def graph_scores(evidence: Evidence, solved: Solved, n_classes: int) -> Floats:
    """Class scores of all vertices: the program's, the evidence's or their mean, as held-out labels have chosen.

    Parameters
    ----------
    evidence : Evidence
    solved : Solved
    n_classes : int

    Returns
    -------
    ndarray of shape (n_vertices, c)
    """
    answer, spoken = evidence.selection.answer, []
    if answer != EVIDENCE:
        A = solved.solution.coefficients
        spoken.append(final_readings(solved.program, A, n_classes, solved.chosen))
    if answer != PROGRAM:
        spoken.append(as_scores(evidence.distributions))
    return spoken[0] if len(spoken) == 1 else np.asarray(np.mean(spoken, axis=0))


def pool_experts(
    evidence: Evidence, labels: Supervision, graph: Floats, X: Features | None, seed: int, progress: Progress
) -> Pooled:
    """Ask the models of the features, and weigh what they and the graph say by held-out labels.

    Parameters
    ----------
    evidence : Evidence
    labels : Supervision
        One label for each labelled example.
    graph : ndarray of shape (n_vertices, c)
        What the graph says of all vertices.
    X : array or csr_array of shape (n_vertices, d), or None
        The examples at the vertices; None for a ready-made graph.
    seed : int
    progress : Progress

    Returns
    -------
    Pooled
    """
    given = labels.picked(evidence.rows)
    weights = _weights(evidence, given)
    names, held_out = [GRAPH], [evidence.readings]
    scores: list[Floats | None] = [graph]
    models: list[Model | None] = [None]
    if X is not None and evidence.rows.size >= LEAST_LABELS:
        with progress.stage("experts"):
            for name, (found, held, model) in _ask(X, labels, seed, evidence, given, weights):
                names.append(name)
                held_out.append(held[evidence.rows])
                scores.append(found)
                models.append(model)
    heard = [k for k in _heard(held_out, given, weights) if scores[k] is not None]
    pool = _pool(heard, names, held_out, scores, given)
    if (best := _better_alone(heard, pool, held_out, given, weights)) is not None:
        heard = [best]
        pool = _pool(heard, names, held_out, scores, given)
    told, of_all = [held_out[k] for k in heard], [found for k in heard if (found := scores[k]) is not None]
    together, weight = pool(told), dict(zip(pool.names, pool.weights, strict=True))
    rows = [(name, float(weight.get(name, 0.0)), held) for name, held in zip(names, held_out, strict=True)]
    table = Table.from_rows(
        [
            {"expert": name, "weight": share, "accuracy": _met(held, given, weights)}
            for name, share, held in [*rows, (TOGETHER, float("nan"), together)]
        ],
        ("expert", "weight", "accuracy"),
    )
    asked = [(names[k], model) for k in heard if (model := models[k]) is not None]
    kept = pool.among((GRAPH, *(name for name, _ in asked)))  # the graph has its place, heard or not
    return Pooled(Voices(kept, tuple(model for _, model in asked), graph), pool(of_all), together, table)


def pool_again(
    voices: Voices,
    table: Table,
    evidence: Evidence,
    located: Located,
    graph: Floats,
    seed: int,
    progress: Progress,
) -> Pooled:
    """Ask those who were heard in a former fit about other labels; their weights stay.

    Parameters
    ----------
    voices : Voices
    table : Table
        Of the former fit.
    evidence : Evidence
    located : Located
    graph : ndarray of shape (n_vertices, c)
        What the graph says of all vertices.
    seed : int
    progress : Progress

    Returns
    -------
    Pooled
    """
    given, labels, X = located.labels.picked(evidence.rows), located.labels, located.X
    weights = _weights(evidence, given)
    names, scores, held_out = [GRAPH], [graph], [evidence.readings]
    models: list[Model] = []
    if X is not None and voices.models:
        with progress.stage("experts"):
            for name in voices.pool.names[1:]:
                found, held, model = _asked(name, X, labels, seed, evidence)
                assert found is not None
                assert model is not None
                names.append(name)
                scores.append(found)
                held_out.append(held[evidence.rows])
                models.append(model)
    together = voices.pool(held_out)
    met = {
        name: _met(said, given, weights) for name, said in zip([*names, TOGETHER], [*held_out, together], strict=True)
    }
    rows = [{**row, "accuracy": met.get(str(row["expert"]), row["accuracy"])} for row in table.rows()]
    return Pooled(
        Voices(voices.pool, tuple(models), graph),
        voices.pool(scores),
        together,
        Table.from_rows(rows, ("expert", "weight", "accuracy")),
    )


def _weights(evidence: Evidence, given: Supervision) -> Floats:
    """Held-out labels weighed as the classes are in the population, (C8), where the graph can tell how they are."""
    if not given.rows.size or label_agreement(evidence.readings, given.codes, given.votes).is_vague:
        return given.votes
    return population_weights(given, evidence.selection.shares)


def _heard(held_out: list[Floats], given: Supervision, weights: Floats) -> list[int]:
    """Which experts are heard: not those that meet clearly fewer of the held-out labels than the best one."""
    if not given.rows.size:
        return list(range(len(held_out)))
    met = np.array([hits(scores, given.Y) for scores in held_out])
    return [int(k) for k in np.flatnonzero(compare(met, weights).level(CLEARLY))]


def _pool(
    heard: list[int], names: list[str], held_out: list[Floats], scores: list[Floats | None], given: Supervision
) -> Pool:
    of_all = [found for k in heard if (found := scores[k]) is not None]
    return fit_pool(tuple(names[k] for k in heard), [held_out[k] for k in heard], of_all, given, given.votes)


def _better_alone(
    heard: list[int], pool: Pool, held_out: list[Floats], given: Supervision, weights: Floats
) -> int | None:
    """The expert that meets more of the held-out labels than all of them together; None where there is none."""
    if not given.rows.size or len(heard) == 1:
        return None
    told = [held_out[k] for k in heard]
    alone = [_met(scores, given, weights) for scores in told]
    best = int(np.argmax(alone))
    return heard[best] if alone[best] > _met(pool(told), given, weights) + 1e-12 else None


def _ask(
    X: Features, labels: Supervision, seed: int, evidence: Evidence, given: Supervision, weights: Floats
) -> Iterator[tuple[str, tuple[Floats | None, Floats, Model | None]]]:
    """Scores of all vertices and of held-out labels, by each model; one far behind the graph is cut short."""
    by_graph = hits(evidence.readings, given.Y)

    def is_near(held_out: Floats, margin: float = FAR) -> bool:
        met = np.array([by_graph, hits(held_out[evidence.rows], given.Y)])
        return bool(compare(met, weights).level(margin)[1])

    if X.shape[1] <= MOST_COLUMNS and labels.Y.size <= MOST_VOTES:
        told: list[Floats] = []
        for name, leaf in FORESTS.items():
            found = forest_scores(X, labels, leaf, seed, is_near)
            yield name, found
            told.append(found[1])
            if not is_near(told[0], HOPELESS):
                break
        if X.shape[0] <= MOST_VERTICES and is_near(told[0], CLEARLY):

            def is_level(held: Ints, scores: Floats) -> bool:
                met = [hits(said, labels.Y[held]) for said in (scores, *(of_forest[held] for of_forest in told))]
                return bool(compare(np.array(met), labels.votes[held]).level(CLEARLY)[0])

            leaves = _leaf_scores(X, labels, seed, evidence, is_level)
            if leaves[2] is not None:
                yield LEAF_GRAPH, leaves
    yield LINEAR, linear_scores(X, labels, is_near)


def _leaf_scores(
    X: Features,
    labels: Supervision,
    seed: int,
    evidence: Evidence,
    is_worth: Callable[[Ints, Floats], bool] = lambda held, scores: True,
) -> tuple[Floats | None, Floats, LeafGraph | None]:
    """The graph of a forest's leaves, read as the other graph is; given up where forests are clearly better."""
    parts = [held for _, held in splits(labels, deal_folds(labels.Y, seed))]
    return leaf_scores(X, labels, parts, evidence.selection.chosen.reading, seed, is_worth)


def _asked(
    name: str, X: Features, labels: Supervision, seed: int, evidence: Evidence
) -> tuple[Floats | None, Floats, Model | None]:
    """Ask one of the models, to its end."""
    if name == LINEAR:
        return linear_scores(X, labels)
    if name == LEAF_GRAPH:
        return _leaf_scores(X, labels, seed, evidence)
    return forest_scores(X, labels, FORESTS[name], seed)


def _met(scores: Floats, given: Supervision, weights: Floats) -> float:
    """Share of the held-out labels that is met, the classes weighed as in the population."""
    return float(weights @ hits(scores, given.Y) / weights.sum()) if given.rows.size else float("nan")
