"""Choosing a class by typing its name: letters choose and do nothing else; Enter or a click decides."""

import csv
import io

import pytest

from browser_case import choose, press
from report_case import NASTY, make_report

pytestmark = pytest.mark.slow

CURRENT = "#rows tr[aria-current=true] .id"
REGIONS = ("Inland-Sardinia", "Sicily", "West-Liguria", "East-Liguria", "West", "Westliguria")
LETTERS = ("a", "k", "u", "c", "p", "n", "j", "?", "kidney", "placenta", "A")
WORDS = ("new york", "new york city", "york", "Новгород", "北京市", "北京", "zürich", "e", " spaces ", "spaces")


def decided(page):
    with page.expect_download() as waiting:
        page.click("#download")
    with open(waiting.value.path(), encoding="utf-8", newline="") as file:
        return list(csv.reader(io.StringIO(file.read(), newline="")))[1:]


@pytest.mark.parametrize("names", [REGIONS, LETTERS, WORDS])
def test_whole_names_are_chosen_as_they_are_typed(open_report, names):
    data = make_report(2 * len(names), classes=names)
    page = open_report(data)
    for k, name in enumerate(names):
        assert page.text_content(CURRENT) == data.suspects[k].id
        page.keyboard.press("c")
        page.keyboard.type(name)
        assert page.text_content("#progress-text").startswith(f"{k} of ")  # nothing counts before Enter
        page.keyboard.press("Enter")
    page.keyboard.press("a")  # goes to the next row, not to the one just chosen
    expected = [[data.suspects[k].id, name, "chosen"] for k, name in enumerate(names)]
    last = data.suspects[len(names)]
    assert decided(page) == [*expected, [last.id, last.suggested, "accepted"]]


def test_what_enter_would_do_is_said_before_it_counts(open_report):
    page = open_report(make_report(classes=REGIONS))
    page.keyboard.press("c")
    box = page.locator("#rows .chooser")
    assert box.locator("input").get_attribute("role") == "combobox"
    assert box.locator("[role=option]").all_text_contents() == list(REGIONS)
    page.keyboard.press("Enter")  # nothing is typed: nothing is chosen
    assert box.count() == 1
    page.keyboard.type("west")
    assert box.locator("[role=option]").all_text_contents() == ["West", "West-Liguria", "Westliguria"]
    assert box.locator(".hint").text_content() == "Enter: Inland-Sardinia → West"
    page.keyboard.press("ArrowDown")
    chosen = box.locator("[aria-selected=true]")
    assert chosen.text_content() == "West-Liguria"
    assert box.locator("input").get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("Enter")
    assert page.locator("#rows .verdict").first.text_content() == "Inland-Sardinia → West-Liguria, will be saved"
    assert page.text_content("#status") == "example-00000: Inland-Sardinia → West-Liguria, will be saved."
    page.keyboard.press("u")
    assert page.text_content("#progress-text") == "0 of 12 reviewed"


@pytest.mark.parametrize("leave", ["Escape", "Tab", "click"])
def test_leaving_changes_nothing(open_report, leave):
    page = open_report(make_report(classes=REGIONS))
    press(page, "k", "p", "c")
    page.keyboard.type("Sicily")
    page.click("#suspects-title") if leave == "click" else page.keyboard.press(leave)
    assert page.locator(".chooser").count() == 0
    assert page.locator("#rows .verdict").first.text_content() == "Inland-Sardinia stays, will be saved"
    if leave == "Escape":
        page.keyboard.press("j")  # the row has the focus again
        assert page.text_content(CURRENT) == "example-00001"
    assert [row[2] for row in decided(page)] == ["kept"]


def test_no_class_is_called_that(open_report):
    page = open_report(make_report())
    choose(page, "wolf")
    assert page.locator(".chooser .hint").text_content().startswith("No class is called that.")
    assert page.locator(".chooser .hint").text_content().endswith("corrections.csv: example-00000,wolf,chosen")
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
    page.fill(".chooser input", "newt")
    page.keyboard.press("Enter")
    assert decided(page) == [["example-00000", "newt", "chosen"]]


def test_thousands_of_classes(open_report):
    names = [f"class {k:04d}" for k in range(5000)]
    page = open_report(make_report(classes=names))
    page.keyboard.press("c")
    assert page.locator(".chooser [role=option]").count() == 50
    assert "5,000 classes, 50 of them shown" in page.text_content(".chooser .hint")
    page.keyboard.type("4321")
    assert page.locator(".chooser [role=option]").all_text_contents() == ["class 4321"]
    page.keyboard.press("Enter")
    assert decided(page) == [["example-00000", "class 4321", "chosen"]]
    times = page.evaluate("""() => ["class", "99", ""].map((typed) => {
      const start = performance.now();
      matching(typed);
      return performance.now() - start;
    })""")
    assert max(times) < 200


@pytest.mark.parametrize("k", range(len(NASTY)))
def test_nasty_names_can_be_chosen(open_report, k):
    page = open_report(make_report(1, classes=NASTY))
    page.locator("#rows").get_by_text("Choose…").click()
    page.locator("#rows [role=option]").nth(k).click()
    page.wait_for_timeout(20)
    assert decided(page) == [["example-00000", NASTY[k], "chosen"]]
    page.reload()
    assert page.text_content("#progress-text") == "1 of 1 reviewed"


def test_keys_of_the_page_stay_letters_wherever_one_types(open_report):
    page = open_report(make_report(4, classes=LETTERS, n_queries=3))
    page.focus("#filter-class")
    page.keyboard.type("kpa")
    assert page.text_content("#progress-text") == "0 of 4 reviewed"
    page.locator("#query-rows").get_by_text("Choose…").first.click()
    page.keyboard.type("akcujnp?")
    assert page.text_content("#progress-text") == "0 of 4 reviewed"
    assert page.text_content("#query-progress-text") == "0 of 3 reviewed"
    assert page.is_hidden("#keys")


def test_a_blank_chooses_nothing(open_report):
    page = open_report(make_report(classes=REGIONS))
    choose(page, " ")
    assert page.locator("#rows .chooser").count() == 1
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
