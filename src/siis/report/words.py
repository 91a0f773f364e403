"""Numbers in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from siis.report.data import Counts, Trust

GRAPH_WORDS = ((0.1, "hardly better than chance"), (0.3, "weak"), (0.6, "fair"), (0.8, "good"))


def graph_word(score: float) -> str:
    """Say how well neighbourhoods carry the labels.

    Parameters
    ----------
    score : float
        Cohen's kappa between held-out labels and readings.

    Returns
    -------
    str
    """
    return next((word for limit, word in GRAPH_WORDS if score < limit), "very good")


def percent(share: float) -> str:
    """Write a share with as many digits as matter: "0.4 %", "38 %".

    Parameters
    ----------
    share : float

    Returns
    -------
    str
    """
    value = 100 * share
    if 0 < value < 0.1:
        return "less than 0.1 %"
    return f"{value:.1f} %" if 0 < value < 10 and round(value, 1) != round(value) else f"{value:.0f} %"


def number(count: int, one: str, many: str) -> str:
    """Count things: "1 label", "2,000 labels".

    Parameters
    ----------
    count : int
    one, many : str

    Returns
    -------
    str
    """
    return f"{count:,} {one if count == 1 else many}"


def summary(counts: Counts, trust: Trust) -> list[str]:
    """Sum a fit up in sentences.

    Parameters
    ----------
    counts : Counts
    trust : Trust

    Returns
    -------
    list of str
    """
    examples = number(counts.examples, "example was", "examples were")
    said = [
        f"{examples} put into {number(counts.classes, 'class', 'classes')}, "
        f"starting from {number(counts.labelled, 'given label', 'given labels')}."
    ]
    if trust.noise_rate is not None:
        line = f"About {percent(trust.noise_rate)} of the given labels are wrong"
        if trust.noise_low is not None and trust.noise_high is not None:
            line += f" (between {percent(trust.noise_low)} and {percent(trust.noise_high)})"
        said.append(line + ".")
    if counts.suspects:
        said.append(
            f"{number(counts.suspects, 'label looks', 'labels look')} wrong; review "
            f"{'it' if counts.suspects == 1 else 'them'}, worst first."
        )
    else:
        said.append("No given label looks wrong.")
    if counts.checked:
        said.append(f"{number(counts.checked, 'label was', 'labels were')} checked by a reviewer and taken as right.")
    if trust.unreached:
        said.append(
            f"{number(trust.unreached, 'example is', 'examples are')} connected to no label; "
            "their classes are guesses."
        )
    return said


def reason(given: str, suggested: str, quality: float, neighbors: Sequence[str], plain: bool) -> str:
    """Say in a sentence why a label is suspected.

    Parameters
    ----------
    given, suggested : str
    quality : float
        The probability that the given label is right.
    neighbors : sequence of str
        Classes of the close examples that speak against it.
    plain : bool
        Whether the quality is the answer's own, which the label has had a say in.

    Returns
    -------
    str
    """
    judge = "in the answer, this label has" if plain else "judged by the other labels, it is right with"
    belief = f"{judge} a probability of {percent(quality)}"
    if suggested == given:
        belief += ", and no other class has more"
    if not neighbors:
        return f"{belief[0].upper()}{belief[1:]}."
    ranked = sorted(Counter(neighbors).items(), key=lambda item: (-item[1], neighbors.index(item[0])))
    crowd = [f"{count} of class {name}" for name, count in ranked]
    return f"Close to it: {', '.join(crowd)}; {belief}."
