"""`siis review` in a real browser: decide, fit, see the list change, reload, kill the server, go on."""

import csv
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from browser_case import press
from cli_case import SIIS
from report_case import make_report
from siis.app.review import ReviewServer, Session
from siis.decisions import Decision, Journal

pytestmark = pytest.mark.slow
CURRENT = "#rows tr[aria-current=true] .id"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with data and results, 12 of its 45 labels wrong."""
    folder = tmp_path_factory.mktemp("reviewed")
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    X = rng.standard_normal((90, 4)) + 4 * np.eye(4)[truth]
    names = np.array(["=ant", "<b>bee</b>", 'c"at'])
    labels = names[truth].astype(object)
    for i in range(0, 24, 2):
        labels[i] = names[(truth[i] + 1) % 3]
    labels[45:] = ""
    with (folder / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "a", "b", "c", "d"])
        writer.writerows(zip([f"@row, {i}" for i in range(90)], labels, *X.T, strict=True))
    fit = ["fit", "in.csv", "--label", "label", "--id", "id", "--n-neighbors", "5", "--quiet", "--out", "results"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        SIIS.ok(*fit)
    return folder


@pytest.fixture
def start(fitted):
    """Start `siis review results`; gives the process and its link."""
    running = []

    def start_(*options):
        command = [sys.executable, "-m", "siis", "review", "results", "--no-open", *options]
        process = subprocess.Popen(
            command, cwd=fitted, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start_
    for process in running:
        process.kill()
        process.communicate()


def until(page, holds):
    """Wait for something to hold on the page, whose policy forbids Playwright's own way."""
    end = time.monotonic() + 40
    while not page.evaluate(holds):
        assert time.monotonic() < end, page.text_content("#served")
        time.sleep(0.05)


def issues(folder):
    with (folder / "results" / "label_issues.csv").open(newline="", encoding="utf-8") as file:
        return [row["id"].removeprefix("'") for row in csv.DictReader(file)]


def test_the_whole_story(fitted, start, browser):
    before = issues(fitted)
    process, link = start()
    assert link.startswith("http://127.0.0.1:")
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    troubles = []
    page.on("console", lambda said: troubles.append(said.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda r: r.url.startswith((link[:20], "data:")) or troubles.append(r.url))
    page.goto(link)
    page.wait_for_selector("#rows tr[data-place]")
    assert page.locator("#rows .id").all_text_contents() == before
    page.locator("#rows tr").nth(2).scroll_into_view_if_needed()
    press(page, "j", "k", "a", "j")
    assert page.text_content(CURRENT) == before[3]
    until(page, "byId('served').textContent.endsWith('The list takes all of it in.')")
    after = issues(fitted)
    assert not set(before[:2]) & set(after)
    until(page, f"byId('found').textContent === '{len(after)} suspects'")
    assert page.locator("#rows .id").all_text_contents() == after
    assert page.text_content(CURRENT) == before[3]  # the reviewer's place
    assert page.evaluate("document.activeElement.tagName") == "TR"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight")
    assert page.locator("#decided-rows th").all_text_contents() == [before[1], before[0]]
    assert page.text_content("#progress-text") == f"2 decided, {len(after)} left in this list"
    page.reload()
    page.wait_for_selector("#rows tr[data-place]")
    assert page.text_content("#served").startswith("2 decisions are saved in results")
    page.locator("#rows tr").first.scroll_into_view_if_needed()
    press(page, "j", "a")
    until(page, "byId('served').textContent.startsWith('3 decisions')")
    assert troubles == []

    process.kill()  # before anything is fitted
    process.wait()
    until(page, "byId('served').textContent.includes('it has ended')")
    page.keyboard.press("a")
    until(page, "byId('served').textContent.startsWith('Not saved')")
    assert page.text_content("#decided-text").startswith("3 in all")

    process, link = start("--port", "0")
    page.goto(link)
    page.wait_for_selector("#decided-rows tr")
    decided = page.locator("#decided-rows th").all_text_contents()
    assert decided[1:] == [before[1], before[0]]
    until(page, "byId('served').textContent.endsWith('The list takes all of it in.')")
    assert not set(decided) & set(issues(fitted))
    page.locator("#decided-rows button").nth(2).click()  # the first decision, kept against the fit, is taken back
    until(page, "byId('served').textContent.startsWith('2 decisions')")
    until(page, "byId('served').textContent.endsWith('The list takes all of it in.')")
    assert before[0] in issues(fitted)
    context.close()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.rstrip().endswith(
        "Interrupted. 2 decisions are saved in results/decisions.jsonl. The results hold them all."
    )
    lines = (fitted / "results" / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["decision"] for line in lines] == ["kept", "accepted", "accepted", "undone"]


@pytest.fixture
def session_link(tmp_path):
    """The link of a review with two decisions on examples that have left all lists."""
    with Journal(tmp_path, "t") as journal:
        for name in ("gone 1", "gone 2"):
            journal.add(Decision(name, "accepted", "cat"))
        report = make_report(n_queries=2)
        ids = {one.id for one in (*report.suspects, *report.queries)} | {"gone 1", "gone 2"}
        session = Session(journal, report, ids, {"gone 1": "cat", "gone 2": "cat"}, lambda _: None, pause=60)
        server = ReviewServer(session)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.link
        server.shutdown()
        server.server_close()


def test_what_was_decided_is_counted_and_said_alike(session_link, browser):
    """No "Nothing is decided" below "2 decided", although these have left the list."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(session_link)
    page.wait_for_selector("#rows tr[data-place]")
    said = "Decided before: 2; the last was gone 2: cat, saved."
    for prefix in ("", "query-"):
        assert page.text_content(f"#{prefix}progress-text").startswith("2 decided, ")
        assert page.text_content(f"#{prefix}status") == said
    for _ in range(2):
        page.locator("#decided-rows button").first.click()
        until(page, "!byId('served').textContent.startsWith('Saving')")
    assert page.text_content("#progress-text").startswith("0 decided, ")
    assert page.text_content("#status") == "Nothing is decided in this list yet."
    context.close()


def test_a_second_window_hears_of_decisions_and_nobody_is_disturbed_while_typing(fitted, start, browser):
    _, link = start()
    context = browser.new_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(link)
        page.wait_for_selector("#rows tr[data-place]")
    second.fill("#filter-text", "row")
    second.evaluate("document.querySelector('main').id = 'former'")
    count = first.locator("#decided-rows tr").count()
    first.locator("#rows tr").first.get_by_text("Keep").click()
    until(second, f"document.querySelectorAll('#decided-rows tr').length === {count + 1}")
    until(first, "byId('served').textContent.endsWith('The list takes all of it in.')")
    until(second, "byId('served').textContent.includes('A new list is ready')")
    time.sleep(1.2)
    assert second.locator("#former").count() == 1
    assert second.input_value("#filter-text") == "row"
    assert second.evaluate("document.activeElement.id") == "filter-text"
    second.evaluate("document.activeElement.blur()")
    until(second, "byId('served').textContent.endsWith('The list takes all of it in.')")
    assert second.locator("#former").count() == 0
    assert second.input_value("#filter-text") == "row"
    context.close()


def test_nothing_is_said_to_be_saved_before_it_is(fitted, start, browser):
    """While the request is held, with the server at work, and after it has been killed."""
    process, link = start()
    journal = fitted / "results" / "decisions.jsonl"
    before = journal.read_text()
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    held = []
    page.route("**/decisions", lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks it)
    page.goto(link)
    page.wait_for_selector("#rows tr[data-place]")
    first = page.text_content("#rows .id")
    verdict = "document.querySelector('#rows .verdict').textContent"
    page.locator("#rows tr").first.get_by_text("Keep").click()
    while not held:
        page.wait_for_timeout(20)
    assert page.evaluate(verdict).endswith(" stays, saving…")
    assert page.text_content("#status").endswith(" stays, saving….")
    assert journal.read_text() == before
    held.pop().continue_()
    until(page, f"{verdict}.endsWith(' stays, saved')")
    assert page.text_content("#status").endswith(" stays, saved.")
    assert first in journal.read_text().removeprefix(before)

    process.kill()
    process.wait()
    page.unroute("**/decisions")
    page.locator("#rows tr").first.get_by_text("Undo").click()
    until(page, f"{verdict}.endsWith(' stays, saved; the change is not saved')")
    assert page.text_content("#status").endswith(" stays, saved; the change is not saved.")
    page.locator("#rows tr").nth(1).get_by_text("Keep").click()
    until(page, "byId('status').textContent.endsWith(': not decided, your decision is not saved.')")
    assert page.locator("#rows .verdict").nth(1).text_content() == "not decided, your decision is not saved"
    context.close()


def test_looks(fitted, start, browser, tmp_path):
    """Served and alone, light and dark: no line runs out of the page."""
    _, link = start()
    for scheme in ("light", "dark"):
        for address in (link, (fitted / "results" / "report.html").as_uri()):
            page = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 800}).new_page()
            page.goto(address)
            page.wait_for_selector("#rows tr[data-place]")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert page.locator("#served").count() == (address == link)
            page.context.close()
