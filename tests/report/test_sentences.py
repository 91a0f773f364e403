"""Numbers in plain words."""

from dataclasses import replace

import pytest

from report_case import make_report
from siis.report.words import graph_word, number, percent, reason, summary


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (4e-17, "less than 0.1 %"), (0.0042, "0.4 %"), (0.02, "2 %"), (0.384, "38 %"), (1, "100 %")],
)
def test_percent(share, text):
    assert percent(share) == text


def test_number():
    assert number(1, "label", "labels") == "1 label"
    assert number(2000, "label", "labels") == "2,000 labels"


@pytest.mark.parametrize(
    ("score", "word"),
    [(-0.2, "hardly better than chance"), (0.1, "weak"), (0.3, "fair"), (0.6, "good"), (0.8, "very good")],
)
def test_graph_word(score, word):
    assert graph_word(score) == word


def test_reason_counts_the_neighbours():
    text = reason("3", "8", 0.02, ["0", "8", "8"], plain=False)
    assert text == (
        "Close to it: 2 of class 8, 1 of class 0; judged by the other labels, it is right with a probability of 2 %."
    )
    assert reason("3", "3", 0.4, [], plain=True) == (
        "In the answer, this label has a probability of 40 %, and no other class has more."
    )


def test_summary_says_what_is_known():
    data = make_report(1)
    said = summary(replace(data.counts, checked=2), replace(data.trust, unreached=5))
    assert said == [
        "4 examples were put into 3 classes, starting from 1 given label.",
        "About 40 % of the given labels are wrong (between 30 % and 50 %).",
        "1 label looks wrong; review it, worst first.",
        "2 labels were checked by a reviewer and taken as right.",
        "5 examples are connected to no label; their classes are guesses.",
    ]
    said = summary(replace(data.counts, suspects=0), replace(data.trust, noise_rate=None))
    assert said[1:] == ["No given label looks wrong."]
