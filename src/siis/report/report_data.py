"""The content of a report as plain data: numbers, strings and lists. None means that it does not apply."""

from __future__ import annotations

from dataclasses import dataclass, field

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Counts:
    """Numbers of examples, labels and classes."""

    examples: int
    labelled: int
    features: int | None  # None for a precomputed graph
    classes: int
    suspects: int  # given labels that are probably wrong
    checked: int  # labels that a reviewer has confirmed
    answered: int  # classes that are predicted


@dataclass(frozen=True)
class Trust:
    """Figures and warnings that say how reliable the predictions are."""

    gap: float | None  # certified relative duality gap
    tol: float
    status: str  # "certified", "stopped" (the paper's step rule) or "max_iter"
    iterations: int
    graph_score: float | None  # Cohen's kappa of held-out labels and predictions; 0 is chance, 1 is perfect
    graph_word: str | None
    noise_rate: float | None  # estimated share of wrong labels
    noise_low: float | None  # its 95 % interval
    noise_high: float | None
    is_rate_known: bool  # False if not estimated, or if labels and features are only loosely related
    neighbor_recall: float | None  # share of the true nearest neighbours that were found
    neighbor_search: str
    unreached: int  # examples that no label is connected to
    warnings: list[str]


@dataclass(frozen=True)
class Reliability:
    """Agreement of predictions with held-out labels; one entry for each bin, the least confident first."""

    low: list[float]  # edges of the bins of the largest predicted probability
    high: list[float]
    labels: list[int]  # held-out labels in the bin
    probability: list[float]  # mean of the largest predicted probability
    agreement: list[float]  # share of the labels that agree with the prediction
    agreement_low: list[float]  # its 95 % interval
    agreement_high: list[float]
    expected: list[float]  # the share that would agree if probabilities and noise rate were right


@dataclass(frozen=True)
class Gain:
    """Expected gain from further labels; None where it cannot be estimated."""

    labels: int  # number of further labels
    accuracy: float | None  # estimated accuracy now
    accuracy_low: float | None  # its 95 % interval
    accuracy_high: float | None
    after: float | None  # estimated accuracy with the further labels
    gain: float | None  # the difference
    low: float | None  # its 95 % interval
    high: float | None
    reason: str  # why it cannot be estimated; otherwise empty


@dataclass(frozen=True)
class Noise:
    """Which classes are mistaken for which."""

    matrix: list[list[float]]  # rows: given class; columns: true class, which sum to 1
    class_rates: list[float | None]  # share of wrong labels among those of each given class


@dataclass(frozen=True)
class Selection:
    """The candidates that were compared, and the reason for the choice."""

    columns: list[str]
    rows: list[list[Cell]]
    reason: str


@dataclass(frozen=True)
class Convergence:
    """Measurements of the solver, one entry each."""

    iteration: list[int]
    objective: list[float | None]
    bound: list[float | None]  # lower bound of the objective
    gap: list[float | None]  # relative duality gap


@dataclass(frozen=True)
class ExampleMap:
    """Examples in the plane, one entry for each point."""

    x: list[int]  # 0 to 9999
    y: list[int]
    ids: list[str]
    predicted: list[int]  # number of the class
    given: list[int]  # number of the class; -1 where unlabelled
    probability: list[float]  # of the predicted class
    suspect: list[int]  # position in the list of suspects, or -1
    snippets: list[str | None]  # beginning of the text or of the cells; left out where the file would grow too large
    thumbnails: list[str | None]  # data URI; left out likewise
    placed: int  # examples with coordinates; more than are drawn in a large data set
    examples: int


@dataclass(frozen=True)
class Shown:
    """What the page shows of an example."""

    id: str
    snippet: str | None  # beginning of its text
    thumbnail: str | None  # data URI
    cells: list[str] | None  # one for each column of the report


@dataclass(frozen=True)
class Neighbor(Shown):
    """A close example; that of a suspect has another class than the given label."""

    label: str  # predicted class
    differs: list[int]  # columns in which it differs from the example, the largest difference first


@dataclass(frozen=True)
class Suspect(Shown):
    """A given label that may be wrong."""

    given: str
    suggested: str
    quality: float  # probability that the given label is right
    why: str  # one sentence
    unusual: list[int]  # columns in which it differs from most neighbours, the largest difference first
    neighbors: list[Neighbor]  # at most five


@dataclass(frozen=True)
class Query(Shown):
    """An example to label or to check next."""

    action: str  # "label" or "check"
    gain: float  # in relative units
    given: str | None  # its label, if it is to be checked
    classes: list[str]  # the likeliest ones, at most three
    probabilities: list[float]
    why: str
    unusual: list[int]
    neighbors: list[Neighbor]  # the closest ones, at most five


@dataclass(frozen=True)
class Finding:
    """Near-duplicates, outliers, overlap or annotators: a sentence and a short table."""

    title: str
    sentence: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows."""

    title: str
    source: str  # name of the file with the examples, or ""
    results: str  # folder of the results, or ""
    classes: list[str]
    counts: Counts
    summary: list[str]  # sentences
    trust: Trust
    reliability: Reliability | None  # None if too few labels were held out
    noise: Noise | None
    selection: Selection | None
    convergence: Convergence
    map: ExampleMap | None
    suspects: list[Suspect]  # given labels that are probably wrong, worst first
    queries: list[Query]  # the most helpful first, without suspects; empty with method="paper"
    columns: list[str]  # of the table with the examples
    pictured: int | None  # the first so many suspects have thumbnails; None if none has
    tabled: int | None  # the same for cells
    findings: list[Finding] = field(default_factory=list)
    label_gain: Gain | None = None  # None with method="paper", or if all examples are labelled
    large: dict[str, str] = field(default_factory=dict)  # large pictures by id, as data URIs, up to a size
