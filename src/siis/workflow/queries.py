"""What to label, or to check, next, by id."""

from __future__ import annotations

from dataclasses import dataclass

from siis.workflow.outcome import Outcome


@dataclass(frozen=True)
class Query:
    """An example whose label, or whose check, would help.

    Attributes
    ----------
    id : str
    action : {"label", "check"}
    likeliest : str
        Its class, as far as is known.
    probability : float
        Of that class.
    gain : float
        Of relative meaning.
    """

    id: str
    action: str
    likeliest: str
    probability: float
    gain: float


def next_queries(outcome: Outcome, n: int) -> list[Query]:
    """Give the examples to label or to check next, the most useful first.

    Parameters
    ----------
    outcome : Outcome
    n : int
        At most so many.

    Returns
    -------
    list of Query
        Empty where the labels were not judged: without selection, or with one class only.
    """
    model = outcome.model
    if not hasattr(model, "label_quality_"):
        return []
    return [
        Query(
            outcome.data.ids[row["index"]],
            str(row["action"]),
            str(model.transduction_[row["index"]]),
            float(model.label_distributions_[row["index"]].max()),
            float(row["gain"]),
        )
        for row in model.suggest_queries(n).rows()
    ]
