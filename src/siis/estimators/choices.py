"""What a classifier that was fitted to a sample has chosen, for the fit of all rows on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siis.errors import Message
from siis.shards import Reader, SampleChoices

if TYPE_CHECKING:
    from siis.estimators.classifier import SIISClassifier

ALONE = {  # parameters that a cluster knows some values of
    "method": (("auto",), "parameters are chosen on a sample"),
    "members": (("auto",), "every family that fits is tried on a sample"),
    "solver": (("auto", "certified"), "the program is solved until its gap is proven"),
    "warm_start": ((False,), "every fit starts anew"),
    "neighbor_search": (("auto",), "neighbours are sought in cells of the rows"),
}


def check_choices(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of SIISClassifier that a cluster would ignore; those left out have their defaults."""
    for name, (possible, why) in ALONE.items():
        value = parameters.get(name, possible[0])
        if not any(type(value) is type(one) and value == one for one in possible):
            raise ValueError(
                Message(
                    f"on a cluster, {{why}}; found {{{name}:{{value}}}}. Leave it at {{{name}:{possible[0]}}}.",
                    why=why,
                    value=value,
                )
            )
    if parameters.get("class_prior") is not None:
        raise ValueError(Message("on a cluster, class sizes are not used; found {class_prior}. Leave it out."))
    if parameters.get("affinity") == "precomputed":
        raise ValueError(
            Message("on a cluster, examples are compared by their features; found {precomputed}. Give features.")
        )


def choices_of(model: SIISClassifier, reader: Reader) -> SampleChoices:
    """What a classifier has chosen that was fitted to a sample; ``reader`` gives the features of a block of rows."""
    choices, constraints = model._choices, model._constraints()
    return SampleChoices(reader, model.classes_, choices, constraints, float(model.tol), int(model.max_iter))
