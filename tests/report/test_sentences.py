"""Numbers in plain words."""

from dataclasses import replace

import numpy as np
import pytest

from report_case import make_report
from siis.app.report.wording import (
    about,
    agreement_sentences,
    gain_sentence,
    graph_word,
    issue_reason,
    percent,
    query_heading,
    summary,
    unreached_warning,
)
from siis.quality import LabelGain


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (4e-17, "less than 0.1 %"), (0.0042, "0.4 %"), (0.02, "2 %"), (0.384, "38 %"), (1, "100 %")],
)
def test_percent(share, text):
    assert percent(share) == text


def test_about():
    assert about(0.38) == "about 38 %"
    assert about(1e-5) == "less than 0.1 %"


@pytest.mark.parametrize(
    ("score", "word"),
    [(-0.2, "hardly better than chance"), (0.1, "weak"), (0.3, "fair"), (0.6, "good"), (0.8, "very good")],
)
def test_graph_word(score, word):
    assert graph_word(score) == word


def test_reason_counts_the_neighbours():
    text = issue_reason("3", "8", 0.02, ["0", "8", "8"], is_held_out=True)
    assert text == (
        "Close neighbours: 2 of class 8, 1 of class 0; judged by the other labels, it is right with a probability of "
        "2 %."
    )
    assert issue_reason("3", "3", 0.4, [], is_held_out=False) == (
        "In the answer, this label has a probability of 40 %, and no other class has more."
    )


def test_summary_says_what_is_known():
    data = make_report(1)
    counts = replace(data.counts, examples=100, labelled=5, checked=2)
    said = summary(counts, replace(data.trust, unreached=5))
    assert said == [
        "100 examples were classified into 3 classes, based on 5 given labels.",
        "About 40 % of the given labels are wrong (95 % interval: 30 % to 50 %).",
        "1 label looks wrong; review it, worst first.",
        "2 labels were checked by a reviewer and taken as correct.",
        "5 of 100 examples (5 %) are connected to no label: their classes are guesses. Label some of them, or "
        "use more neighbours (--n-neighbors).",
    ]
    said = summary(replace(data.counts, suspects=0), replace(data.trust, noise_rate=None))
    assert said[1:] == ["No given label looks wrong."]


def test_classes_that_stay_empty_are_not_counted():
    data = make_report(1)
    assert summary(replace(data.counts, examples=420, classes=11, answered=5), data.trust)[0].startswith(
        "420 examples were classified into 5 of 11 classes, based"
    )


def test_what_rests_on_nothing_is_said_first():
    data = make_report(1)
    counts = replace(data.counts, examples=60)
    half = replace(data.trust, unreached=30, neighbor_recall=None)
    said = summary(counts, half)[0]
    assert said == (
        "30 of 60 examples (50 %) are connected to no label: their classes are guesses. Label some of them."
    )
    assert unreached_warning(counts, half).startswith(said + " "), "one wording"
    assert summary(counts, replace(data.trust, unreached=6))[0].startswith("60 examples were classified")
    assert unreached_warning(counts, replace(data.trust, unreached=1)).startswith(
        "1 of 60 examples (1.7 %) is connected to"
    )
    assert unreached_warning(counts, data.trust) is None


@pytest.mark.parametrize(
    ("labelled", "suspects", "rate", "high", "said"),
    [
        (40, 0, 0.005, 0.03, ["Less than one given label is probably wrong (0.5 %, 95 % interval: 0 % to 3 %).",
                              "No given label looks wrong."]),
        (100, 2, 0.3, 0.4, ["About 30 % of the given labels are wrong (95 % interval: 0 % to 40 %).",
                            "2 labels look wrong; review them, worst first.",
                            "About 28 more are probably wrong, but cannot be identified."]),
        (100, 30, 0.3, 0.4, ["About 30 % of the given labels are wrong (95 % interval: 0 % to 40 %).",
                             "30 labels look wrong; review them, worst first."]),
        (100, 9, 0.01, 0.03, ["About 1 % of the given labels are wrong (95 % interval: 0 % to 3 %).",
                              "9 labels may be wrong, but not all of them are; review them, worst first."]),
    ],
)  # fmt: skip
def test_how_many_and_which_fit_together(labelled, suspects, rate, high, said):
    data = make_report(1)
    counts = replace(data.counts, labelled=labelled, suspects=suspects)
    trust = replace(data.trust, noise_rate=rate, noise_low=0.0, noise_high=high)
    assert summary(counts, trust)[1:] == said


@pytest.mark.parametrize(
    ("suspects", "said"),
    [
        (5, "5 labels look wrong; review them, worst first."),
        (60, "60 labels may be wrong, but not all of them are; review them, worst first."),
        (0, "No given label looks wrong."),
    ],
)
def test_a_share_that_cannot_be_told_is_not_said(suspects, said):
    data = make_report(1)
    counts = replace(data.counts, labelled=100, suspects=suspects)
    trust = replace(data.trust, noise_rate=0.33, noise_low=0.0, noise_high=0.45, is_rate_known=False)
    assert summary(counts, trust)[1:] == [
        "The share of wrong labels cannot be estimated here (at most 45 %): labels and features are only loosely "
        "related.",
        said,
    ]
    unbounded = summary(counts, replace(trust, noise_high=None))
    assert unbounded[1].startswith("The share of wrong labels cannot be estimated here: ")


def test_how_sure_and_how_often_right():
    data = make_report()
    bins, trust = data.reliability, replace(data.trust, noise_rate=0.05)
    assert agreement_sentences(bins, trust) == [
        "Of the predictions with a probability of 90 to 100 %, about 94 % agree with held-out labels (expected with "
        "about 5 % wrong labels: 93 %).",
        "Of the predictions with a probability below 60 %, about 40 % agree (expected: 47 %).",
    ]
    assert agreement_sentences(bins, replace(trust, is_rate_known=False)) == [
        "Of the predictions with a probability of 90 to 100 %, about 94 % agree with held-out labels.",
        "Of the predictions with a probability below 60 %, about 40 % agree.",
    ]
    some = replace(bins, low=[0.6, 0.7, 0.9], high=[0.7, 0.9, 1.0])
    assert agreement_sentences(some, trust)[1].startswith(
        "Of the predictions with a probability of 60 to 70 %, about 40 %"
    )
    assert len(agreement_sentences(replace(bins, high=[0.8, 0.9, 1.0]), trust)) == 1
    one = replace(bins, low=[0.0], high=[1.0], agreement=[0.5], expected=[0.6])
    assert [said.split(",")[0] for said in agreement_sentences(one, trust)] == ["Of all predictions"]


def test_examples_that_all_have_labels_are_not_said_to_be_put_anywhere():
    data = make_report(1)
    counts = replace(data.counts, examples=1797, labelled=1797, classes=10, answered=10)
    assert summary(counts, data.trust)[0] == "All 1,797 examples have a given label (10 classes)."
    said = summary(replace(counts, answered=9), data.trust)[0]
    assert said.endswith("(10 classes, 9 of them predicted).")


@pytest.mark.parametrize(
    ("actions", "word"), [(["label"] * 3, "Label"), (["check"], "Check"), (["label", "check"], "Label or check")]
)
def test_what_is_asked_for(actions, word):
    assert query_heading(actions) == word


def test_what_further_labels_gain():
    told = LabelGain(100, 0.93, 0.9, 0.96, 0.942, 0.012, 0.003, 0.024, "")
    said = "Expected gain from 100 more labels: +1.2 percentage points of accuracy (95 % interval: 0.3 to 2.4)."
    assert gain_sentence(told) == said
    assert gain_sentence(replace(told, n_labels=1, gain=-0.0001, low=-0.003)) == (
        "It is not known whether one more label would raise the accuracy "
        "(percentage points, 95 % interval: -0.3 to 2.4)."
    )
    unknown = LabelGain(100, *[np.nan] * 7, "fewer than 30 labels can be held out (8 can; a class needs two of them)")
    assert gain_sentence(unknown) == f"The gain from 100 more labels cannot be estimated: {unknown.reason}."


def test_the_first_sentences_name_the_models_and_the_expected_accuracy():
    data = make_report(0)
    gain = LabelGain(100, 0.93, 0.9, 0.96, 0.942, 0.012, 0.003, 0.024, "")
    models = [("graph", 0.6), ("forest", 0.4)]
    plain = summary(data.counts, data.trust)[0]
    assert summary(data.counts, data.trust, models, gain)[0] == (
        f"{plain} The predictions are an average of models of these kinds: graph (60 %), forest (40 %). "
        "About 93 % of the predictions are expected to be right (95 % interval: 90 % to 96 %)."
    )
    wide = summary(data.counts, data.trust, models, replace(gain, accuracy_low=0.6))[0]
    assert wide.endswith("How many of the predictions are right cannot be estimated.")
    unknown = LabelGain(100, *[np.nan] * 7, "too few")
    assert summary(data.counts, data.trust, models, unknown)[0].endswith("forest (40 %).")
