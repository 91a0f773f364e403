"""Figures in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from siis.app.report.data import Counts, Reliability, Trust
from siis.quality import LabelGain
from siis.texts import plural

GRAPH_WORDS = ((0.1, "hardly better than chance"), (0.3, "weak"), (0.6, "fair"), (0.8, "good"))
NONE_WRONG = "No given label looks wrong."
LOOSE = "labels and features are only loosely related"
UNSURE = 0.7  # the least certain predictions are mentioned if their probabilities are lower
WIDEST = 0.3  # interval of the accuracy that is reported
LARGE_SHARE = 0.1  # of examples that no label reaches: beyond, they come first


def graph_word(score: float) -> str:
    """A word for Cohen's kappa between held-out labels and predictions."""
    return next((word for limit, word in GRAPH_WORDS if score < limit), "very good")


def percent(share: float) -> str:
    """Format a share with as many digits as matter: "0.4 %", "38 %"."""
    value = 100 * share
    if 0 < value < 0.1:
        return "less than 0.1 %"
    return f"{value:.1f} %" if 0 < value < 10 and round(value, 1) != round(value) else f"{value:.0f} %"


def about(share: float) -> str:
    """Format an estimated share: "about 38 %" or "less than 0.1 %"."""
    written = percent(share)
    return written if written.startswith("less") else f"about {written}"


def summary(
    counts: Counts, trust: Trust, models: Sequence[tuple[str, float]] = (), gain: LabelGain | None = None
) -> list[str]:
    """The fit in sentences: the models that gave the predictions, with their weights; accuracy; labels."""
    named = ", ".join(f"{name} ({weight:.0%})".replace("%", " %") for name, weight in models)
    source = f"The predictions are an average of models of these kinds: {named}." if models else ""
    first = f"{_answered(counts)} {source}{'' if gain is None else accuracy_sentence(gain)}".strip()
    sentences = [first, *_wrong(counts, trust)]
    if counts.checked:
        sentences.append(
            f"{plural(counts.checked, 'label was', 'labels were')} checked by a reviewer and taken as correct."
        )
    if trust.unreached:
        sentences.insert(0 if is_led_by_unreached(counts, trust) else len(sentences), unreached(counts, trust))
    return sentences


def accuracy_sentence(gain: LabelGain) -> str:
    """The estimated accuracy with its interval; nothing where that is not known or too wide to be of use."""
    if math.isnan(gain.accuracy):
        return ""
    if gain.accuracy_high - gain.accuracy_low > WIDEST:
        return " How many of the predictions are right cannot be estimated."
    span = f"95 % interval: {percent(gain.accuracy_low)} to {percent(gain.accuracy_high)}"
    return f" {_capital(about(gain.accuracy))} of the predictions are expected to be right ({span})."


def _answered(counts: Counts) -> str:
    """State the numbers of examples, labels and classes."""
    classes = plural(counts.classes, "class", "classes")
    if counts.labelled == counts.examples:
        some = "" if counts.answered == counts.classes else f", {counts.answered:,} of them predicted"
        return f"All {counts.examples:,} examples have a given label ({classes}{some})."
    some = "" if counts.answered == counts.classes else f"{counts.answered:,} of "
    examples = plural(counts.examples, "example was", "examples were")
    labels = plural(counts.labelled, "given label", "given labels")
    return f"{examples} classified into {some}{classes}, based on {labels}."


def _wrong(counts: Counts, trust: Trust) -> list[str]:
    """How many labels are wrong, and which: the two must agree."""
    if trust.noise_rate is not None and not trust.is_rate_known:
        high = "" if trust.noise_high is None else f" (at most {percent(trust.noise_high)})"
        unknown = f"The share of wrong labels cannot be estimated here{high}: {LOOSE}."
        return [unknown, _look_wrong(counts, trust) if counts.suspects else NONE_WRONG]
    suspects, rate = counts.suspects, trust.noise_rate
    if rate is None:
        return [_look_wrong(counts, trust) if suspects else NONE_WRONG]
    span = ""
    if trust.noise_low is not None and trust.noise_high is not None:
        span = f"95 % interval: {percent(trust.noise_low)} to {percent(trust.noise_high)}"
    if not suspects:
        bracket = ", ".join(filter(None, [percent(rate), span]))
        return [f"Less than one given label is probably wrong ({bracket}).", NONE_WRONG]
    share = f"{_capital(about(rate))} of the given labels are wrong{f' ({span})' if span else ''}."
    sentences = [share, _look_wrong(counts, trust)]
    wrong = rate * (counts.labelled - counts.checked)
    if wrong >= 1.5 * suspects + 1:
        sentences.append(f"About {round(wrong - suspects):,} more are probably wrong, but cannot be identified.")
    return sentences


def _look_wrong(counts: Counts, trust: Trust) -> str:
    """How many suspects there are; no more can be wrong than the upper end of the interval allows."""
    suspects = counts.suspects
    high = trust.noise_high if trust.noise_rate is not None and trust.noise_high is not None else 1.0
    review = f"review {'it' if suspects == 1 else 'them'}, worst first."
    if suspects > high * (counts.labelled - counts.checked) + 1:
        return f"{plural(suspects, 'label may', 'labels may')} be wrong, but not all of them are; {review}"
    return f"{plural(suspects, 'label looks', 'labels look')} wrong; {review}"


def is_led_by_unreached(counts: Counts, trust: Trust) -> bool:
    """Whether more than a tenth of the examples are connected to no label, which is then said first."""
    return trust.unreached > LARGE_SHARE * counts.examples


def unreached(counts: Counts, trust: Trust) -> str:
    """How many examples no label is connected to, what that means and what to do."""
    share = percent(trust.unreached / counts.examples)
    how = "" if trust.neighbor_recall is None else ", or use more neighbours (--n-neighbors)"
    some = f"{trust.unreached:,} of {counts.examples:,} examples ({share})"
    if trust.unreached == 1:
        return f"{some} is connected to no label: its class is a guess. Label it{how}."
    return f"{some} are connected to no label: their classes are guesses. Label some of them{how}."


def unreached_warning(counts: Counts, trust: Trust) -> str | None:
    """A warning about examples that are connected to no label; None if there are none."""
    if not trust.unreached:
        return None
    advice = " Do not rely on these predictions." if is_led_by_unreached(counts, trust) else ""
    rest = "The statements below about neighbourhoods and labels hold for the other examples only."
    return f"{unreached(counts, trust)}{advice} {rest}"


def agreement_sentences(reliability: Reliability, trust: Trust) -> list[str]:
    """One or two sentences on how often the predictions agree with held-out labels."""
    shares, expected = [about(share) for share in reliability.agreement], ["", ""]
    if trust.noise_rate is not None and trust.is_rate_known:
        top, bottom = percent(reliability.expected[-1]), percent(reliability.expected[0])
        expected = [f" (expected with {about(trust.noise_rate)} wrong labels: {top})", f" (expected: {bottom})"]
    sentences = [f"Of {_given(reliability, -1)}, {shares[-1]} agree with held-out labels{expected[0]}."]
    if len(shares) > 1 and reliability.high[0] <= UNSURE:
        sentences.append(f"Of {_given(reliability, 0)}, {shares[0]} agree{expected[1]}.")
    return sentences


def _given(reliability: Reliability, k: int) -> str:
    low, high = reliability.low[k], percent(reliability.high[k])
    if low == 0:
        return "all predictions" if reliability.high[k] == 1 else f"the predictions with a probability below {high}"
    return f"the predictions with a probability of {100 * low:.0f} to {high}"


def query_heading(actions: Iterable[str]) -> str:
    """The heading of the queries: "Label", "Check" or "Label or check"."""
    kinds = set(actions)
    return next(iter(kinds)).capitalize() if len(kinds) == 1 else "Label or check"


def gain_sentence(gain: LabelGain) -> str:
    """The expected gain from further labels in a sentence."""
    labels = "one more label" if gain.n_labels == 1 else f"{gain.n_labels:,} more labels"
    if math.isnan(gain.gain):
        return f"The gain from {labels} cannot be estimated: {gain.reason}."
    mean, low, high = (round(100 * value, 1) + 0.0 for value in (gain.gain, gain.low, gain.high))
    span = f"95 % interval: {low:.1f} to {high:.1f}"
    if gain.low <= 0 <= gain.high:
        return f"It is not known whether {labels} would raise the accuracy (percentage points, {span})."
    return f"Expected gain from {labels}: {mean:+.1f} percentage points of accuracy ({span})."


def query_reason(given: str | None, quality: float, is_reached: bool) -> str:
    """Why a label of this example would help, in a sentence."""
    if given is not None:
        right = f"Its label is right with a probability of {percent(quality)}"
        return f"{right}, and the classes of its neighbours are uncertain."
    if not is_reached:
        return "It has no label, and none is connected to it."
    return "It has no label, and its class and those of its neighbours are uncertain."


def issue_reason(given: str, suggested: str, quality: float, neighbors: Sequence[str], is_held_out: bool) -> str:
    """Why a label is suspected, in a sentence; of held-out or of predicted probabilities."""
    judge = "judged by the other labels, it is right with" if is_held_out else "in the answer, this label has"
    belief = f"{judge} a probability of {percent(quality)}"
    if suggested == given:
        belief += ", and no other class has more"
    if not neighbors:
        return f"{_capital(belief)}."
    ranked = sorted(Counter(neighbors).items(), key=lambda item: (-item[1], neighbors.index(item[0])))
    crowd = ", ".join(f"{count} of class {name}" for name, count in ranked)
    return f"Close neighbours: {crowd}; {belief}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
