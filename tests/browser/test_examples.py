"""What is shown of the examples: the columns of their table, what tells them apart; and what to label next."""

from dataclasses import replace

import pytest

from browser_case import CONTRAST, choose, hover
from report_case import DOT, make_report

pytestmark = pytest.mark.slow

COLUMNS = ("colour", "size", "shape", "taste", "weight", "origin", "<b>last</b>")


def test_columns_that_differ_come_first(open_report):
    page = open_report(make_report(columns=COLUMNS))
    first = page.locator("#rows tr").first
    assert first.locator(".cells dt").all_text_contents() == list(COLUMNS[:5])
    assert first.locator(".cells .unusual").all_text_contents() == ["colourown"]
    near = first.locator(".near li")
    assert near.all_text_contents() == ["dog, 2 neighbours: colour: other (here own)"]
    assert near.get_attribute("title") == "near example-00000, near example-00000"
    page.fill("#filter-text", "value 7")
    assert page.locator("#rows .id").all_text_contents() == ["example-00007"]


def test_neighbours_of_whom_the_same_is_said_have_one_line(open_report):
    report = make_report(1, columns=COLUMNS)
    suspect = report.suspects[0]
    told = [("e1", "dog", []), ("e2", "cat", []), ("e3", "dog", [0]), ("e4", "dog", [])]
    near = [replace(suspect.neighbors[0], id=name, label=label, differs=apart) for name, label, apart in told]
    page = open_report(replace(report, suspects=[replace(suspect, neighbors=near)]))
    lines = page.locator("#rows .near li")
    assert lines.all_text_contents() == [
        "dog, 2 neighbours: much the same in every column",
        "cat: much the same in every column",
        "dog: colour: other (here own)",
    ]
    assert lines.first.get_attribute("title") == "e1, e4"


def test_all_columns_are_compared_on_demand(open_report):
    page = open_report(make_report(columns=COLUMNS))
    assert page.locator(".compared").count() == 0
    page.locator("#rows .more").nth(1).click()
    table = page.locator(".compared")
    assert table.locator("tbody th").all_text_contents() == list(COLUMNS)
    assert table.locator("tbody tr").first.locator("td").all_text_contents() == ["own", "other", "other"]
    assert table.locator("td.unusual").all_text_contents() == ["own"]
    assert table.locator("td.differs").count() == 2
    page.keyboard.press("a")  # keys go on, and what is open stays open
    assert page.text_content("#rows tr[aria-current=true] .id") == "example-00002"
    assert page.locator(".compared").count() == 1
    page.locator("#rows .more").nth(1).click()
    assert page.locator(".compared").count() == 0


def test_what_to_label_next_is_reviewed_alike(open_report):
    page = open_report(make_report(2, n_queries=6, pictures=True))
    assert page.locator("#query-rows .change").all_text_contents()[:3] == [
        "Label it",
        "Label it",
        "Check its label: newt",
    ]
    assert page.locator("#query-rows tr").first.locator(".likely li").all_text_contents() == [
        "cat 40 %",
        "dog 35 %",
        "newt 25 %",
    ]
    page.keyboard.press("a")  # the first suspect
    page.locator("#query-rows tr").first.locator(".id").click()
    page.keyboard.press("k")
    assert "there is no label to keep" in page.text_content("#query-status")
    page.keyboard.press("a")
    assert page.text_content("#query-rows tr[aria-current=true] .id") == "query 1"
    choose(page, "newt")
    page.keyboard.press("k")
    assert page.locator("#query-rows .verdict").all_text_contents()[:4] == [
        "no label → cat, will be saved",
        "no label → newt, will be saved",
        "newt stays, will be saved",
        "not decided",
    ]
    assert page.text_content("#query-progress-text") == "3 of 6 reviewed"
    assert page.text_content("#progress-text") == "1 of 2 reviewed"
    page.reload()
    assert page.text_content("#query-progress-text") == "3 of 6 reviewed"
    with page.expect_download() as waiting:
        page.click("#query-download")
    with open(waiting.value.path(), encoding="utf-8", newline="") as file:
        assert file.read().split("\r\n") == [
            "id,label,decision",
            "example-00000,dog,accepted",
            "query 0,cat,accepted",
            "query 1,newt,chosen",
            "query 2,newt,kept",
            "",
        ]


def test_many_queries_come_in_pages(open_report):
    page = open_report(make_report(2, n_queries=30))
    assert page.locator("#query-rows tr").count() == 25
    page.click("#query-page-on")
    assert page.locator("#query-rows tr .id").all_text_contents() == [f"query {k}" for k in range(25, 30)]
    assert page.text_content("#query-page-text") == "page 2 of 2"
    assert page.text_content("#page-text") == "page 1 of 1"
    assert page.is_disabled("#query-page-on")


def test_queries_alone(open_report):
    page = open_report(make_report(0, n_queries=2))
    assert page.is_visible("#queries")
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("a")
    assert page.text_content("#query-progress-text") == "1 of 2 reviewed"
    assert open_report(make_report(2)).locator("#queries").count() == 0


def test_the_map_shows_pictures_and_texts_of_unlabelled_examples(open_report):
    data = make_report(pictures=True)
    page = open_report(data)
    assert hover(page, data, 13) == ["far 1", "dog", "no label", "75 %"]
    assert page.locator("#map-detail img").get_attribute("alt") == "Picture of far 1"
    assert page.text_content("#map-detail .snippet") == "text 1"


def test_pressed_buttons_can_be_read(open_report):
    for scheme in ("light", "dark"):
        page = open_report(make_report(columns=COLUMNS, n_queries=2), color_scheme=scheme)
        page.evaluate(CONTRAST)
        row = page.locator("#rows tr[data-place]").first
        readable = "(n) => contrast(getComputedStyle(n).color, groundOf(n))"
        for name in ("Accept", "Keep"):
            button = row.get_by_text(name)
            button.hover()
            before = button.bounding_box()
            button.click()
            assert button.bounding_box() == before  # nothing moves under the pointer
            assert button.get_attribute("aria-pressed") == "true"
            button.hover()
            assert button.evaluate(readable) >= 4.5
            page.mouse.move(0, 0)
            assert button.evaluate(readable) >= 4.5
        row.get_by_text("Choose…").click()
        page.keyboard.type("newt")
        assert page.locator(".chooser li").first.evaluate(readable) >= 4.5
        page.hover(".chooser li")
        assert page.locator(".chooser li").first.evaluate(readable) >= 4.5
        page.keyboard.press("Enter")
        assert row.get_by_text("Choose…").evaluate(readable) >= 4.5
        assert row.locator(".cells .unusual dd").evaluate(readable) >= 4.5


LARGE = "data:image/gif;base64,R0lGODlhAgABAIAAAAAAAP///yH5BAEAAAAALAAAAAACAAEAAAIBRAA7"


def test_a_picture_is_enlarged_by_a_click_and_by_a_key(open_report):
    report = make_report(2, pictures=True)
    name = report.suspects[0].id
    page = open_report(replace(report, large={name: LARGE}))
    page.locator("#rows tr").first.locator("img.big").click()
    assert page.locator("#enlarged").is_visible()
    assert page.get_attribute("#enlarged-image", "src") == LARGE
    assert page.text_content("#enlarged-name") == name
    page.keyboard.press("a")  # nothing is decided behind the picture
    assert page.text_content("#progress-text") == "0 of 2 reviewed"
    page.keyboard.press("Escape")
    assert not page.locator("#enlarged").is_visible()
    page.locator("#rows .near img").first.click()
    assert page.get_attribute("#enlarged-image", "src") == DOT  # the page has no larger one
    assert page.locator("#enlarged-image").bounding_box()["width"] >= 300
    page.keyboard.press("Escape")
    page.locator("#rows tr[data-place]").first.focus()
    page.keyboard.press("e")
    assert page.get_attribute("#enlarged-image", "src") == LARGE
    page.get_by_role("button", name="Close").click()
    assert not page.locator("#enlarged").is_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    page.keyboard.press("e")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_of_classes_on_the_map_differ_where_classes_do(open_report):
    long = "Mycobacterium tuberculosis complex of the "
    names = (f"{long}first kind", f"{long}second kind", "Mycobacterium avium", "cat")
    page = open_report(make_report(4, classes=names))
    assert page.locator("#legend button span").all_text_contents() == list(names)
    page.locator("#map-canvas").scroll_into_view_if_needed()
    assert page.evaluate(
        "[...document.querySelectorAll('#legend button span')].every((s) => s.scrollWidth <= s.clientWidth + 1)"
    )
    written = page.evaluate("shortNames(DATA.classes, 16)")
    assert len(set(written)) == 4
    assert written[3] == "cat"
    assert all(len(name) <= 18 for name in written)
    alike = page.evaluate("shortNames(['abcdef', 'abcdeg', 'abcdefg', 'abc'], 4)")
    assert len(set(alike)) == 4
