"""Review by mouse and keys, across reloads, and the file that comes out."""

import csv
import io

import pytest

from browser_case import choose, press
from report_case import NASTY, make_report
from siis.app.report import render

pytestmark = pytest.mark.slow

CURRENT = "#rows tr[aria-current=true] .id"


def downloaded(page):
    with page.expect_download() as waiting:
        page.click("#download")
    assert waiting.value.suggested_filename == "corrections.csv"
    with open(waiting.value.path(), encoding="utf-8", newline="") as file:
        return file.read()


def ids(page):
    return page.locator("#rows .id").all_text_contents()


def verdicts(page):
    return page.locator("#rows .verdict").all_text_contents()


def test_a_key_does_not_decide_on_a_row_that_is_not_seen(open_report):
    for key, verdict in (("a", "cat → dog, will be saved"), ("k", "cat stays, will be saved")):
        page = open_report(make_report(), is_at_top=True)
        page.keyboard.press(key)
        assert page.text_content("#progress-text") == "0 of 12 reviewed"
        assert "example-00000: press" in page.text_content("#status")
        assert page.evaluate("document.activeElement.dataset.place") == "0"
        assert page.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight - 64")
        page.keyboard.press(key)
        assert verdicts(page)[0] == verdict


def test_keys(open_report):
    page = open_report(make_report())
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
    assert page.is_disabled("#download")
    page.keyboard.press("a")  # the first; goes on by itself
    assert page.text_content(CURRENT) == "example-00001"
    press(page, "k", "j")
    assert page.text_content(CURRENT) == "example-00003"
    choose(page, "newt")
    assert verdicts(page)[:4] == [
        "cat → dog, will be saved",
        "dog stays, will be saved",
        "not decided",
        "cat → newt, will be saved",
    ]
    assert page.text_content("#status") == "example-00003: cat → newt, will be saved."
    assert page.text_content("#progress-text") == "3 of 12 reviewed"
    assert page.text_content(CURRENT) == "example-00004"  # a choice goes on by itself, too
    page.keyboard.press("ArrowDown")
    assert page.text_content(CURRENT) == "example-00005"
    press(page, "p", "ArrowUp")
    assert page.text_content(CURRENT) == "example-00003"
    page.keyboard.press("u")
    assert verdicts(page)[3] == "not decided"
    page.keyboard.press("u")  # nothing to undo here: the last decision
    assert page.text_content(CURRENT) == "example-00001"
    assert verdicts(page)[:2] == ["cat → dog, will be saved", "not decided"]
    assert page.text_content("#progress-text") == "1 of 12 reviewed"


def test_undo_takes_the_current_one_first(open_report):
    page = open_report(make_report())
    press(page, "a", "k", "p", "p", "u")
    assert verdicts(page)[:2] == ["not decided", "dog stays, will be saved"]


def test_keys_are_shown_and_hidden(open_report):
    page = open_report(make_report())
    assert page.is_hidden("#keys")
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    assert page.get_attribute("#keys-button", "aria-expanded") == "true"
    page.keyboard.press("?")
    assert page.is_hidden("#keys")


def test_letters_are_letters_in_the_search_box(open_report):
    page = open_report(make_report())
    page.click("#filter-text")
    page.keyboard.type("akcujnp?")
    assert page.input_value("#filter-text") == "akcujnp?"
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
    page.fill("#filter-text", "")
    for elsewhere in ("#map-canvas", "#legend-all", "#zoom-in"):
        page.focus(elsewhere)
        page.keyboard.press("a")
        assert page.text_content("#progress-text") == "0 of 12 reviewed"


def test_mouse(open_report):
    page = open_report(make_report())
    row = page.locator("#rows tr").nth(2)
    row.get_by_text("Keep").click()
    assert verdicts(page)[2] == "newt stays, will be saved"
    row.get_by_text("Accept").click()
    assert verdicts(page)[2] == "newt → cat, will be saved"
    row.get_by_text("Choose…").click()
    row.get_by_role("option", name="dog").click()
    assert verdicts(page)[2] == "newt → dog, will be saved"
    assert page.text_content(CURRENT) == "example-00003"
    assert downloaded(page) == "id,label,decision\r\nexample-00002,dog,chosen\r\n"
    row.get_by_text("Undo").click()
    assert verdicts(page)[2] == "not decided"
    assert page.is_disabled("#download")
    row.get_by_text("Keep").click()
    page.click("#undo")
    assert page.is_disabled("#download")


def test_decided_suspects_leave_the_undecided(open_report):
    page = open_report(make_report(3))
    page.check("#filter-undecided")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    assert ids(page) == ["example-00001", "example-00002"]
    assert page.text_content(CURRENT) == "example-00001"
    press(page, "k", "k")
    assert page.text_content("#rows") == "Everything is reviewed."
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")  # nothing is there to accept
    assert downloaded(page).count("kept") == 2


def test_a_review_of_several_pages(open_report):
    page = open_report(make_report(60))
    assert len(ids(page)) == 25
    for _ in range(26):
        page.keyboard.press("a")
    assert page.text_content("#page-text") == "page 2 of 3"
    assert page.text_content(CURRENT) == "example-00026"
    page.click("#page-on")
    assert ids(page)[0] == "example-00050"
    page.click("#page-back")
    assert ids(page)[0] == "example-00025"
    assert page.text_content("#progress-text") == "26 of 60 reviewed"


def test_the_sentence_follows_what_is_stored(open_report):
    page = open_report(make_report(n_queries=2))
    assert page.text_content("#status") == "Nothing is decided in this list yet."
    press(page, "a", "k")
    page.reload()
    assert page.text_content("#status") == "Decided before: 2; the last was example-00001: dog stays, will be saved."
    assert page.text_content("#query-status") == "Nothing is decided in this list yet."


def test_reload_keeps_the_work(open_report):
    page = open_report(make_report())
    press(page, "a", "k")
    before = downloaded(page)
    page.reload()
    assert page.text_content("#progress-text") == "2 of 12 reviewed"
    assert verdicts(page)[:3] == ["cat → dog, will be saved", "dog stays, will be saved", "not decided"]
    assert page.text_content(CURRENT) == "example-00002"  # where to go on
    assert downloaded(page) == before


def test_reload_keeps_the_work_when_the_storage_comes_back_empty(open_report):
    page = open_report(make_report())
    page.keyboard.press("a")
    page.evaluate("localStorage.clear()")
    page.reload()
    assert page.text_content("#progress-text") == "1 of 12 reviewed"
    page.keyboard.press("u")
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
    page.reload()
    assert page.text_content("#progress-text") == "0 of 12 reviewed"


def test_two_reports_do_not_mix(open_report, tmp_path):
    page = open_report(make_report())
    page.keyboard.press("a")
    (tmp_path / "report.html").write_text(render(make_report(title="Another")), encoding="utf-8")
    page.reload()
    assert page.text_content("#progress-text") == "0 of 12 reviewed"
    (tmp_path / "report.html").write_text(render(make_report()), encoding="utf-8")
    page.reload()
    assert page.text_content("#progress-text") == "1 of 12 reviewed"


def test_damaged_memory_is_not_believed(open_report):
    page = open_report(make_report())
    page.evaluate(
        'localStorage.setItem(decisions.key, \'[[0,"accepted","wolf"],[99,"kept","cat"],[1,"kept","dog"]]\')'
    )
    page.evaluate("window.dispatchEvent(new StorageEvent('storage', { key: decisions.key }))")
    assert page.text_content("#progress-text") == "1 of 12 reviewed"
    assert downloaded(page) == "id,label,decision\r\nexample-00001,dog,kept\r\n"


def test_no_storage_is_said(open_report):
    forbid = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }})"
    page = open_report(make_report(), script=forbid)
    assert "does not let the page keep" in page.text_content("#storage-note")
    assert page.is_visible("#storage-note")
    page.keyboard.press("a")
    assert downloaded(page) == "id,label,decision\r\nexample-00000,dog,accepted\r\n"
    assert page.is_visible("#storage-note")
    assert open_report(make_report()).is_hidden("#storage-note")


def test_the_file_holds_nasty_ids_exactly(open_report):
    page = open_report(make_report(len(NASTY), classes=NASTY[:6], ids=NASTY, texts=NASTY))
    for k in range(len(NASTY)):
        page.keyboard.press("a" if k % 2 else "k")
    text = downloaded(page)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    expected = [
        [name, NASTY[(k + 1) % 6] if k % 2 else NASTY[k % 6], "accepted" if k % 2 else "kept"]
        for k, name in enumerate(NASTY)
    ]
    assert rows == [["id", "label", "decision"], *expected]
    assert text.startswith('id,label,decision\r\n"say ""hi"", you","say ""hi"", you",kept\r\n"two\nlines",')
    assert "\r\n=cmd(),=cmd(),kept\r\n" in text


@pytest.mark.parametrize("name", NASTY)
def test_nasty_text_is_shown_as_text(open_report, name):
    page = open_report(make_report(2, classes=(name, "b"), ids=[name, "x"], texts=[name, name], title=name))
    assert page.locator("#rows .id").first.evaluate("node => node.textContent") == name
    assert page.locator("#rows .snippet").first.evaluate("node => node.textContent") == name
    assert page.locator("#rows del").first.evaluate("node => node.textContent") == name
    assert page.locator("#rows img, #rows script, #rows b, #legend b").count() == 0
    page.select_option("#filter-class", "=" + name)
    assert page.locator("#rows tr").count() == 2
    page.focus("#map-canvas")
    page.keyboard.press("a")
    assert page.locator("#map-detail dd").count() == 4


def test_two_windows_keep_each_others_decisions(open_report):
    one = open_report(make_report())
    other = one.context.new_page()
    other.goto(one.url)
    one.click('#rows tr >> nth=0 >> button:text-is("Keep")')
    other.locator("#progress-text", has_text="1 of 12 reviewed").wait_for(timeout=5000)
    assert verdicts(other)[0] == "cat stays, will be saved"
    other.evaluate("decisions.made.clear(); decisions.order = []")  # as if the news had not come yet
    other.click('#rows tr >> nth=2 >> button:text-is("Keep")')
    one.locator("#progress-text", has_text="2 of 12 reviewed").wait_for(timeout=5000)
    assert [row.split(",")[0] for row in downloaded(one).splitlines()[1:]] == ["example-00000", "example-00002"]
    one.click('#rows tr >> nth=0 >> button:text-is("Undo")')
    other.locator("#progress-text", has_text="1 of 12 reviewed").wait_for(timeout=5000)
    assert verdicts(other)[0] == "not decided"


def test_a_held_key_decides_once(open_report):
    page = open_report(make_report())
    for _ in range(4):
        page.keyboard.down("k")  # repeats until it is let go
    page.keyboard.up("k")
    assert page.text_content("#progress-text") == "1 of 12 reviewed"
    for _ in range(3):
        page.keyboard.down("j")
    page.keyboard.up("j")
    assert page.text_content(CURRENT) == "example-00004"
