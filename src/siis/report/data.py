"""What a report says, as plain data: numbers, strings and lists. None means that it does not apply."""

from __future__ import annotations

from dataclasses import dataclass, field

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Counts:
    """How many of what.

    Attributes
    ----------
    examples, labelled, classes, checked : int
    features : int or None
        None for a ready-made graph.
    suspects : int
        Given labels that are more likely wrong than right.
    doubtful : int
        Given labels that are listed although none is a suspect, because some are probably wrong.
    answered : int
        Classes that occur among the answers.
    """

    examples: int
    labelled: int
    features: int | None
    classes: int
    suspects: int
    checked: int
    doubtful: int
    answered: int


@dataclass(frozen=True)
class Trust:
    """How far the answer can be relied on.

    Attributes
    ----------
    gap : float or None
        Relative duality gap that was proven; None where none was.
    tol : float
        The one that was asked for.
    status : str
        "certified", "stopped" (the paper's step rule) or "max_iter".
    iterations : int
    graph_score : float or None
        Agreement of held-out labels with their neighbourhoods; 0 is chance, 1 is perfect.
    graph_word : str or None
        The same in a word.
    noise_rate, noise_low, noise_high : float or None
        Estimated share of wrong labels, and its 95 % interval.
    is_rate_known : bool
        Whether that share says something: False where it was not estimated, and where the labels follow the
        neighbourhoods so loosely that wrong labels cannot be told from blunt scores.
    neighbor_recall : float or None
        Share of the true nearest neighbours that was found.
    neighbor_search : str
    unreached : int
        Examples that no label is connected to.
    warnings : list of str
    """

    gap: float | None
    tol: float
    status: str
    iterations: int
    graph_score: float | None
    graph_word: str | None
    noise_rate: float | None
    noise_low: float | None
    noise_high: float | None
    is_rate_known: bool
    neighbor_recall: float | None
    neighbor_search: str
    unreached: int
    warnings: list[str]


@dataclass(frozen=True)
class Reliability:
    """How often answers agree with held-out labels; lists have one entry for each bin, the least sure first.

    Attributes
    ----------
    low, high : list of float
        Edges of the bins of the largest probability of an answer.
    labels : list of int
        How many held-out labels are in the bin.
    probability : list of float
        Mean of the largest probabilities.
    agreement, agreement_low, agreement_high : list of float
        Share of the labels that agree with the answer, and its 95 % interval.
    expected : list of float
        The share that would agree if probabilities and the estimated share of wrong labels were right.
    """

    low: list[float]
    high: list[float]
    labels: list[int]
    probability: list[float]
    agreement: list[float]
    agreement_low: list[float]
    agreement_high: list[float]
    expected: list[float]


@dataclass(frozen=True)
class Enough:
    """What further labels would gain; None where that cannot be told.

    Attributes
    ----------
    labels : int
        How many further labels.
    accuracy, accuracy_low, accuracy_high : float or None
        Estimated share of right answers now, and its 95 % interval.
    after : float or None
        The same with the further labels.
    gain, low, high : float or None
        The difference, and its 95 % interval.
    reason : str
        Why it cannot be told; empty where it can.
    """

    labels: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    after: float | None
    gain: float | None
    low: float | None
    high: float | None
    reason: str


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
        Value of the program, the lower bound then, and the relative gap.
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
    snippets, thumbnails : list of str or None
        The beginning of its text or of its cells, and its picture as a data URI; None where it has none, or where
        it is left out to keep the file small.
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
    snippets: list[str | None]
    thumbnails: list[str | None]
    placed: int
    examples: int


@dataclass(frozen=True)
class Shown:
    """What can be seen of an example.

    Attributes
    ----------
    id : str
    snippet, thumbnail : str or None
        The beginning of its text; its picture as a data URI.
    cells : list of str, or None
        One for each column of the report.
    """

    id: str
    snippet: str | None
    thumbnail: str | None
    cells: list[str] | None


@dataclass(frozen=True)
class Neighbor(Shown):
    """A close example; that of a suspect speaks against its label.

    Attributes
    ----------
    label : str
        Its predicted class.
    differs : list of int
        Columns in which it differs from the example, the largest difference first.
    """

    label: str
    differs: list[int]


@dataclass(frozen=True)
class Suspect(Shown):
    """A given label that may be wrong.

    Attributes
    ----------
    given, suggested : str
    quality : float
        The probability that the given label is right.
    why : str
        One sentence.
    unusual : list of int
        Columns in which it differs from most of its neighbours, the largest difference first.
    neighbors : list of Neighbor
        At most five.
    """

    given: str
    suggested: str
    quality: float
    why: str
    unusual: list[int]
    neighbors: list[Neighbor]


@dataclass(frozen=True)
class Query(Shown):
    """An example whose label, or whose check, would help most.

    Attributes
    ----------
    action : {"label", "check"}
    gain : float
        Of relative meaning.
    given : str or None
        Its label, where it is to be checked.
    classes : list of str
        The likeliest ones, at most three.
    probabilities : list of float
    why : str
    unusual : list of int
    neighbors : list of Neighbor
        The closest ones, at most five.
    """

    action: str
    gain: float
    given: str | None
    classes: list[str]
    probabilities: list[float]
    why: str
    unusual: list[int]
    neighbors: list[Neighbor]


@dataclass(frozen=True)
class Finding:
    """Something else that the graph tells, in a sentence and a short table.

    Attributes
    ----------
    title, said : str
    columns : list of str
    rows : list of lists of str
        One cell for each column.
    """

    title: str
    said: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    Attributes
    ----------
    title, source, results : str
        source: name of the file that the examples came from, or ""; results: the folder of the results, or "".
    classes : list of str
    counts : Counts
    summary : list of str
        Sentences in plain words.
    trust : Trust
    reliability : Reliability or None
        None where too few labels were held out.
    noise : Noise or None
    selection : Selection or None
    convergence : Convergence
    map : ExampleMap or None
    suspects : list of Suspect
        More likely wrong than right, worst first.
    doubtful : list of Suspect
        Where there are no suspects although some labels are probably wrong: those in most doubt, worst first.
    queries : list of Query
        What to label or to check next, the most helpful first, without what is listed to be reviewed; empty without
        selection.
    columns : list of str
        Columns of the table that the examples came from.
    pictured, tabled : int or None
        Thumbnails, and cells, are there for so many suspects or doubtful labels, the worst; None if there are none at
        all.
    findings : list of Finding
        Near-duplicates, outliers, classes that overlap, annotators: those that apply.
    enough : Enough or None
        None without selection, and where no example is left to label.
    large : dict of str to str
        Large pictures of listed examples and of their neighbours, by id, as data URIs; those that fit into the page.
    """

    title: str
    source: str
    results: str
    classes: list[str]
    counts: Counts
    summary: list[str]
    trust: Trust
    reliability: Reliability | None
    noise: Noise | None
    selection: Selection | None
    convergence: Convergence
    map: ExampleMap | None
    suspects: list[Suspect]
    doubtful: list[Suspect]
    queries: list[Query]
    columns: list[str]
    pictured: int | None
    tabled: int | None
    findings: list[Finding] = field(default_factory=list)
    enough: Enough | None = None
    large: dict[str, str] = field(default_factory=dict)
