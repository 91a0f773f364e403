"""Names, counts and guesses in messages."""

import pytest

from siis.texts import did_you_mean, is_number, plural, quoted


@pytest.mark.parametrize(
    ("name", "names", "said"),
    [
        ("lable", ["label", "id"], "Did you mean label?"),
        ("LABEL", ["label"], "Did you mean label?"),
        ("hight", ["height", "weight"], "Did you mean height or weight?"),
        ("digit 1x", ["digit 1"], "Did you mean 'digit 1'?"),
        ("xyz", ["label"], ""),
        ("label", [], ""),
    ],
)
def test_did_you_mean(name, names, said):
    assert did_you_mean(name, names) == said


def test_similar_names_are_sought_among_the_first_only():
    names = [f"{k:05d}" for k in range(10_000)] + ["label"]
    assert did_you_mean("lable", names) == ""
    assert did_you_mean("lable", names[1:]) == "Did you mean label?"


@pytest.mark.parametrize(
    ("text", "is_one"), [("1", True), (" -1e3 ", True), ("nan", True), ("", False), ("1,5", False)]
)
def test_is_number(text, is_one):
    assert is_number(text) is is_one


def test_plural():
    assert plural(1, "label") == "1 label"
    assert plural(2000, "label") == "2,000 labels"
    assert plural(2, "class", "classes") == "2 classes"


def test_names_are_quoted_where_a_terminal_would_not_show_them_as_they_are():
    assert quoted("plain-name.csv") == "plain-name.csv"
    assert quoted("two words") == "'two words'"
    assert quoted("\x1b[2J") == "'\\x1b[2J'"
    assert len(quoted("x" * 100)) <= 62
