"""Filters, the map, speed, small screens, both colour schemes, and what assistive technology needs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from browser_case import CONTRAST, PAD, hover, place, press
from report_case import make_report
from siis.app.report.data import Convergence

pytestmark = pytest.mark.slow

PAINTED = """color => { const c = byId('map-canvas'), copy = document.createElement('canvas');
  [copy.width, copy.height] = [c.width, c.height];
  const read = copy.getContext('2d', { willReadFrequently: true });
  read.drawImage(c, 0, 0);
  const d = read.getImageData(0, 0, c.width, c.height).data;
  const [r, g, b] = [1, 3, 5].map(k => parseInt(color.slice(k, k + 2), 16));
  let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] === r && d[i+1] === g && d[i+2] === b; return n; }"""


def shown(page):
    return page.locator("#rows .id").all_text_contents()


def test_filter_by_text(open_report):
    texts = [f"a story about number {k}, Ünder" for k in range(12)]
    page = open_report(make_report(texts=texts))
    page.fill("#filter-text", "NUMBER 11")
    assert shown(page) == ["example-00011"]
    assert page.text_content("#found") == "1 of 12 suspects"
    page.fill("#filter-text", "example-0000")
    assert len(shown(page)) == 10
    page.fill("#filter-text", "ünder")
    assert len(shown(page)) == 12
    page.fill("#filter-text", ".*")
    assert shown(page) == []
    assert page.text_content("#rows") == "Nothing matches the filters."


def test_filter_by_class(open_report):
    data = make_report()
    page = open_report(data)
    assert page.locator("#filter-class option").all_text_contents() == ["any", "cat", "dog", "newt"]
    page.select_option("#filter-class", label="newt")
    assert shown(page) == [s.id for s in data.suspects if "newt" in (s.given, s.suggested)]
    page.fill("#filter-text", "00002")
    assert shown(page) == ["example-00002"]
    page.select_option("#filter-class", label="any")
    page.fill("#filter-text", "")
    assert len(shown(page)) == 12


def test_hover_shows_details(open_report):
    data = make_report()
    page = open_report(data)
    assert hover(page, data, 12) == ["far 0", "cat", "no label", "75 %"]
    assert hover(page, data, 14) == ["far 2", "newt", "no label", "75 %"]
    assert hover(page, data, 5) == ["example-00005", "cat", "newt", "90 %"]
    page.click("#map-detail button")
    assert page.text_content("#rows tr[aria-current=true] .id") == "example-00005"


def test_keys_on_the_map(open_report):
    data = make_report()
    page = open_report(data)
    page.focus("#map-canvas")
    first = page.text_content("#map-detail dd")
    press(page, "ArrowUp", "ArrowUp")
    up = page.text_content("#map-detail dd")
    assert up != first
    assert data.map.y[data.map.ids.index(up)] > data.map.y[data.map.ids.index(first)]
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    assert page.text_content("#map-detail dd").startswith("example-")
    chosen = page.text_content("#map-detail dd")
    page.keyboard.press("Enter")
    assert page.text_content("#rows tr[aria-current=true] .id") == chosen
    assert page.evaluate("document.activeElement.tagName") == "TR"


def eventually(page, color, holds):
    """Wait for the pixels of a colour; Playwright's own waiting evaluates strings, which the page forbids."""
    for _ in range(100):
        if holds(page.evaluate(PAINTED, color)):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{color}: {page.evaluate(PAINTED, color)} pixels")


def test_the_legend_filters(open_report):
    data = make_report()
    page = open_report(data)
    colors = page.evaluate("COLORS")
    assert page.evaluate(PAINTED, colors[0]) > 5
    entry = page.locator("#legend button").first
    entry.click()
    assert entry.get_attribute("aria-pressed") == "false"
    eventually(page, colors[0], lambda n: n == 0)
    assert page.evaluate(PAINTED, colors[1]) > 5
    assert hover(page, data, 12) == []
    page.click("#legend-none")
    eventually(page, colors[1], lambda n: n == 0)
    page.click("#legend-all")
    eventually(page, colors[0], lambda n: n > 5)
    page.check("input[value=suspect]")
    assert hover(page, data, 12) == []
    assert hover(page, data, 5) != []


def test_zoom_and_drag(open_report):
    data = make_report()
    page = open_report(data)
    page.click("#zoom-in")
    assert hover(page, data, 13)[:1] != ["far 1"]  # above the edge by now
    x, y = place(page, data, 13)
    side = page.evaluate("Math.min(byId('map-canvas').clientWidth, byId('map-canvas').clientHeight)") - 2 * PAD
    page.mouse.move(x, y + 30)
    page.mouse.down()
    page.mouse.move(x, y + 30 + side / 4, steps=4)
    page.mouse.up()
    page.mouse.move(x, y)
    assert page.text_content("#map-detail dd") == "far 1"
    page.click("#zoom-reset")
    assert hover(page, data, 12)[0] == "far 0"
    assert hover(page, data, 13)[0] == "far 1"


def test_colour_is_not_the_only_sign(open_report):
    """Neighbouring entries of the legend differ in shape too."""
    page = open_report(make_report(12, classes=[f"class {k}" for k in range(12)]))
    marks = page.locator("#legend svg > *").evaluate_all(
        "nodes => nodes.map(n => n.tagName + n.getAttribute('points') + n.getAttribute('fill'))"
    )
    assert len(set(marks)) == 12
    assert (
        page.evaluate("SHAPES.length * COLORS.length") == 70
    )  # no common divisor: that many pairs before one comes back


def test_ten_thousand_suspects_stay_responsive(open_report):
    texts = [f"the quick brown fox number {k} jumps over the lazy dog " * 5 for k in range(10_000)]
    page = open_report(make_report(10_000, texts=texts))
    assert page.locator("#rows tr").count() == 25
    times = page.evaluate("""() => ["n", "nu", "number 77", "example-09", "zzz", ""].map((text) => {
      const box = byId("filter-text");
      const start = performance.now();
      box.value = text;
      box.dispatchEvent(new Event("input"));
      document.body.offsetHeight;
      return performance.now() - start;
    })""")
    assert np.median(times) < 300
    page.fill("#filter-text", "number 9999 ")
    assert shown(page) == ["example-09999"]
    page.keyboard.press("Tab")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    assert page.text_content("#progress-text") == "1 of 10,000 reviewed"


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1920])
def test_nothing_scrolls_sideways(open_report, width):
    long = "x" * 400
    data = make_report(
        6, classes=[long, "b", "c"], ids=[long + str(k) for k in range(6)], texts=[long] * 6, title=long
    )
    page = open_report(data, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_many_classes_are_listed(open_report):
    page = open_report(
        make_report(5, classes=[f"class {k}" for k in range(60)]), viewport={"width": 390, "height": 800}
    )
    assert "more than 40 classes" in page.text_content("#noise-body")
    assert page.locator("#noise-body tbody tr").count() == 50
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_dark_differs(open_report):
    colors = [
        open_report(make_report(2), color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colors[0] != colors[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(open_report, scheme):
    data = make_report(30, pictures=True, texts=["text"] * 30)
    page = open_report(data, color_scheme=scheme)
    press(page, "a", "?")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.locator("#legend button").first.click()
    page.hover("#map-canvas", position={"x": 5, "y": 5})
    page.mouse.move(*place(page, data, 5))
    page.evaluate(CONTRAST)
    weak = page.evaluate("""() => [...document.body.querySelectorAll("*")].filter((node) => {
      const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
      const isSilent = ["SCRIPT", "STYLE", "OPTION", "NOSCRIPT"].includes(node.tagName);
      return hasText && node.getClientRects().length && !isSilent;
    }).map((node) => {
      const style = getComputedStyle(node);
      const ink = node instanceof SVGElement ? style.fill : style.color;
      return [contrast(ink, groundOf(node)), node.tagName, node.textContent.trim().slice(0, 30)];
    })""")
    assert len(weak) > 100
    assert [row for row in weak if row[0] < 4.5] == []
    tokens = """pairs => pairs.map(([a, b]) => contrast(cssColor(a), cssColor(b)))"""
    pairs = [
        [ink, ground] for ink in ("--text", "--muted") for ground in ("--bg", "--surface", "--sunken", "--soft")
    ] + [["--on-accent", "--accent"], ["--warn", "--warn-bg"], ["--mark", "--soft"], ["--mark", "--surface"]]
    assert min(page.evaluate(tokens, pairs)) >= 4.5
    marks = page.evaluate("COLORS.map((color) => contrast(color, cssColor('--bg')))")
    assert min(marks) >= 3


def test_names_for_assistive_technology(open_report):
    page = open_report(make_report(30, pictures=True))
    nameless = page.evaluate("""() => [
      ...document.querySelectorAll("button, input, select, progress, canvas, [role=region], [role=img]")
    ].filter((node) => {
      const by = byId(node.getAttribute("aria-labelledby"))?.textContent || "";
      const labels = [...(node.labels || [])].map((label) => label.textContent).join("");
      const own = node.tagName === "BUTTON" ? node.textContent : "";
      return !(by + labels + own + (node.getAttribute("aria-label") || "")).trim();
    }).map((node) => node.outerHTML)""")
    assert nameless == []
    shown = page.locator("img:not(#enlarged-image)")  # that has a name as soon as it shows a picture
    pictures = shown.evaluate_all("nodes => nodes.map(n => n.alt)")
    assert len(pictures) == 25 * 3
    assert all(pictures)
    assert page.evaluate("document.documentElement.lang") == "en"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(n => n.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate("[...document.querySelectorAll('th')].every(n => n.scope)")
    for attribute in ("aria-labelledby", "aria-describedby", "aria-controls"):
        named = page.evaluate(
            f"[...document.querySelectorAll('[{attribute}]')].map(n => n.getAttribute('{attribute}'))"
        )
        assert set(named) <= set(ids)


def test_focus_is_visible(open_report):
    page = open_report(make_report(3))
    seen = set()
    for _ in range(60):  # more than once around
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.tagName"))
        if page.evaluate("document.activeElement === document.body"):
            continue
        style = page.evaluate("(s => s.outlineStyle + s.outlineWidth)(getComputedStyle(document.activeElement))")
        assert style == "solid3px", page.evaluate("document.activeElement.outerHTML")
    assert {"A", "BUTTON", "INPUT", "SELECT", "CANVAS"} <= seen


def test_a_report_with_nothing_in_it(open_report):
    data = make_report(0, reliability=None, noise=None, selection=None, map=None)
    page = open_report(data)
    assert page.locator("svg.plot").count() == 1
    page.keyboard.press("a")


def test_the_page_reads_without_script(open_report):
    page = open_report(make_report(), java_script_enabled=False)
    assert "need JavaScript" in page.inner_text("noscript")


def test_names_on_the_map_do_not_cover_each_other(open_report):
    page = open_report(make_report())
    names = [{"x": 100 + k, "y": 50, "width": 40} for k in range(7)] + [{"x": 300, "y": 50, "width": 40}]
    found = page.evaluate("names => namePlaces(names)", names)
    assert found[0] == found[7] == 50
    assert found.count(None) == 2, "five fit, above and below"
    kept = sorted(y for y in found[:7] if y is not None)
    assert min(b - a for a, b in itertools.pairwise(kept)) >= 14


def test_headings_stand_over_their_values(open_report):
    page = open_report(make_report(columns=("colour", "size")))
    page.locator("#rows .more").first.click()
    sides = page.locator(".compared th, .compared td").evaluate_all(
        "all => all.map((n) => getComputedStyle(n).textAlign)"
    )
    assert set(sides) == {"left"}


@pytest.mark.parametrize(
    "gaps",
    [[1.0, 0.1, 0.01, 1e-3, 2e-4, 1.1e-4, 9e-5], [2e-4, 1.5e-4, 1.3e-4, 5e-5], [5e-5, 4e-5], [1.0] * 5 + [1e-6]],
)
def test_the_curve_does_not_run_through_a_word(open_report, gaps):
    n = len(gaps)
    page = open_report(make_report(convergence=Convergence(list(range(n)), [1.0] * n, [0.9] * n, gaps)))
    crossed = page.evaluate("""() => {
      const words = [...document.querySelectorAll("#convergence-body text")];
      const word = words.find((n) => n.textContent === "tolerance").getBBox();
      const line = document.querySelector("#convergence-body polyline"), length = line.getTotalLength();
      return [...Array(1001).keys()].filter((k) => {
        const { x, y } = line.getPointAtLength(length * k / 1000);
        return x > word.x && x < word.x + word.width && y > word.y && y < word.y + word.height;
      }).length;
    }""")
    assert crossed == 0


@pytest.mark.parametrize("is_known", [True, False])
def test_how_sure_and_how_often_right_is_drawn(open_report, is_known):
    data = make_report()
    page = open_report(replace(data, trust=replace(data.trust, is_rate_known=is_known)))
    bins, box = data.reliability, page.locator("#reliability-body")
    lines = box.locator("tbody tr").evaluate_all("rows => rows.map((r) => [...r.children].map((n) => n.textContent))")
    assert lines[0][:5] == ["below 60 %", "50 %", "10", "40 %", "17 % to 69 %"]
    assert lines[2][:5] == ["90 to 100 %", "97 %", "70", "94 %", "86 % to 98 %"]
    assert [line[5:] for line in lines] == ([["47 %"], ["65 %"], ["93 %"]] if is_known else [[], [], []])
    marks = box.locator("svg").evaluate("""plot => {
      const all = (kind, ...of) => [...plot.querySelectorAll(kind)].map((n) => of.map((k) => n[k].baseVal.value));
      const [dots, wanted] = [".dot", ".wanted"].map((kind) => all(kind, "cx", "cy").slice(1)); // not the legend's
      const spans = all("line.line", "y1", "y2").slice(1);
      return { dots, wanted, spans, grid: all(".axis", "y1").flat(), said: plot.querySelector("desc").textContent };
    }""")
    heights = np.linspace(marks["grid"][-1], marks["grid"][0], 101)  # of 100 % down to 20 %
    shares = np.linspace(1, 0.2, 101)
    for drawn, expected in (
        ([y for _, y in marks["dots"]], bins.agreement),
        ([y for _, y in marks["wanted"]], bins.expected if is_known else []),
        ([y for y, _ in marks["spans"]][1:], bins.agreement_low[1:]),
        ([y for _, y in marks["spans"]], bins.agreement_high),
    ):
        np.testing.assert_allclose(np.interp(drawn, heights, shares), expected, atol=1e-3)
    across = [x for x, _ in marks["dots"]]
    np.testing.assert_allclose((across[1] - across[0]) / (across[2] - across[0]), 0.25 / 0.47, atol=1e-3)
    assert "At 97 %, 94 % of 70 labels agree" in marks["said"]
    assert ("expected 93 %." in marks["said"]) == is_known
    assert ("expected" in box.inner_text()) == is_known
    assert page.evaluate("""() => [...document.querySelectorAll("#reliability-body svg > :not(desc)")].every((n) => {
      const { x, y, width, height } = n.getBBox();
      return x >= 0 && y >= 0 && x + width <= 480 && y + height <= 320;
    })""")
