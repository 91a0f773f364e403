"""What a report says, as plain data: numbers, strings and lists. None means that it does not apply."""

from __future__ import annotations

from dataclasses import dataclass

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Counts:
    """How many of what.

    Attributes
    ----------
    examples, labelled, classes, suspects, checked : int
    features : int or None
        None for a ready-made graph.
    """

    examples: int
    labelled: int
    features: int | None
    classes: int
    suspects: int
    checked: int


@dataclass(frozen=True)
class Trust:
    """How far the answer can be relied on.

    Attributes
    ----------
    gap, tol : float
        Relative duality gap that was proven, and the one that was asked for.
    status : str
        "certified", "stopped" (the paper's step rule) or "max_iter".
    iterations : int
    graph_score : float or None
        Agreement of held-out labels with their neighbourhoods; 0 is chance, 1 is perfect.
    graph_word : str or None
        The same in a word.
    noise_rate, noise_low, noise_high : float or None
        Estimated share of wrong labels, and its 95 % interval.
    neighbor_recall : float or None
        Share of the true nearest neighbours that was found.
    neighbor_search : str
    unreached : int
        Examples that no label is connected to.
    warnings : list of str
    """

    gap: float
    tol: float
    status: str
    iterations: int
    graph_score: float | None
    graph_word: str | None
    noise_rate: float | None
    noise_low: float | None
    noise_high: float | None
    neighbor_recall: float | None
    neighbor_search: str
    unreached: int
    warnings: list[str]


@dataclass(frozen=True)
class Noise:
    """Which classes are taken for which.

    Attributes
    ----------
    matrix : list of c lists of c floats
        Row, given class; column, true class; columns sum to 1.
    class_rates : list of c floats or None
        Share of wrong ones among the labels of each given class.
    """

    matrix: list[list[float]]
    class_rates: list[float | None]


@dataclass(frozen=True)
class Selection:
    """What was tried, and why the winner won.

    Attributes
    ----------
    columns : list of str
    rows : list of lists
        One cell for each column.
    reason : str
    """

    columns: list[str]
    rows: list[list[Cell]]
    reason: str


@dataclass(frozen=True)
class Convergence:
    """What the solver measured; all lists have one entry for each measurement.

    Attributes
    ----------
    iteration : list of int
    objective, bound, gap : list of float or None
        Value of the program, the best lower bound so far, and the relative gap.
    """

    iteration: list[int]
    objective: list[float | None]
    bound: list[float | None]
    gap: list[float | None]


@dataclass(frozen=True)
class ExampleMap:
    """Examples in the plane; lists have one entry for each point.

    Attributes
    ----------
    x, y : list of int
        0 to 9999.
    ids : list of str
    predicted : list of int
        Number of the class.
    given : list of int
        Number of the class, or -1 where unlabelled.
    probability : list of float
        Of the predicted class.
    suspect : list of int
        Position in the list of suspects, or -1.
    placed : int
        How many examples have a place; those that are not drawn are left out to keep the page quick.
    examples : int
        How many examples there are.
    """

    x: list[int]
    y: list[int]
    ids: list[str]
    predicted: list[int]
    given: list[int]
    probability: list[float]
    suspect: list[int]
    placed: int
    examples: int


@dataclass(frozen=True)
class Neighbor:
    """An example that speaks against a label.

    Attributes
    ----------
    id : str
    label : str
        Its predicted class.
    snippet, thumbnail : str or None
        The beginning of its text; its picture as a data URI.
    """

    id: str
    label: str
    snippet: str | None
    thumbnail: str | None


@dataclass(frozen=True)
class Suspect:
    """A given label that is more likely wrong than right.

    Attributes
    ----------
    id, given, suggested : str
    quality : float
        The probability that the given label is right.
    why : str
        One sentence.
    snippet, thumbnail : str or None
    neighbors : list of Neighbor
        At most five.
    """

    id: str
    given: str
    suggested: str
    quality: float
    why: str
    snippet: str | None
    thumbnail: str | None
    neighbors: list[Neighbor]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    Attributes
    ----------
    title, source : str
        source: name of the file that the examples came from, or "".
    classes : list of str
    counts : Counts
    summary : list of str
        Sentences in plain words.
    trust : Trust
    noise : Noise or None
    selection : Selection or None
    convergence : Convergence
    map : ExampleMap or None
    suspects : list of Suspect
        Worst first.
    pictured : int or None
        Thumbnails are there for so many suspects, the worst; None if there are no thumbnails at all.
    """

    title: str
    source: str
    classes: list[str]
    counts: Counts
    summary: list[str]
    trust: Trust
    noise: Noise | None
    selection: Selection | None
    convergence: Convergence
    map: ExampleMap | None
    suspects: list[Suspect]
    pictured: int | None
