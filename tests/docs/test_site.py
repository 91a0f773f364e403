"""The site builds without a warning from a copy of the sources, and needs no network when it is read."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
NEEDED = ["sphinx", "myst_parser", "numpydoc", "furo", "sphinx_gallery"]
MISSING = [name for name in NEEDED if find_spec(name) is None]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; the examples are laid out but not run, since test_gallery runs them."""
    if MISSING:
        pytest.skip(f"the site cannot be built without {', '.join(MISSING)}: pip install '.[docs]'")
    copy = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("_build", "gallery", "generated"))
    shutil.copytree(ROOT / "examples", copy / "examples")
    shutil.copytree(ROOT / "benchmarks" / "results", copy / "benchmarks" / "results")
    shutil.copy(ROOT / "CHANGELOG.md", copy)
    html = copy / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0", "docs", str(html)]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(command, check=False, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return html


class Links(HTMLParser):
    """Collects what a page refers to and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") == "stylesheet":
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Links(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_internal_links_resolve(site, pages):
    assert len(pages) > 80
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            target, _, anchor = unquote(link).partition("#")
            target = target.partition("?")[0]
            if "://" in link or link.startswith(("mailto:", "data:")):
                continue
            file = (path.parent / target).resolve() if target else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_a_network(site, pages):
    far = {link for page in pages.values() for link in page.loaded if link.startswith(("http:", "https:", "//"))}
    assert not far
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import\s+['\"]https?:", sheet.read_text()), sheet


def test_mathematics_is_drawn_by_the_browser(site):
    text = (site / "how-it-works.html").read_text()
    assert text.count("<math") > 5
    assert "$" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_docstrings_become_pages(site):
    text = (site / "generated" / "siis.SIISClassifier.html").read_text()
    assert "||P U A||_{2,1}" in text  # as typed
    for name in ("label_issues", "suggest_queries", "predict_proba", "n_neighbors", "noise_matrix_"):
        assert name in text
    assert "set_fit_request" not in text


@pytest.mark.parametrize("width", [390, 1024, 1280, 1366, 1440, 1920])
def test_no_page_scrolls_sideways(site, pages, width, browser):
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, wide = context.new_page(), []
    for path in pages:
        if path.parent == site or path.parent.name == "gallery":
            page.goto(path.as_uri(), wait_until="domcontentloaded")
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append(path.name)
    context.close()
    assert not wide
