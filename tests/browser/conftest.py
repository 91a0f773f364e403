"""Debian's Chromium, driven by Playwright. Every page must stay silent: no error, no dialog, no request."""

import pytest

from siis.app.report import render

TO_THE_REVIEW = """(document.querySelector("#rows tr") ?? document.querySelector("#query-rows tr"))
  ?.scrollIntoView({ block: "center", behavior: "instant" })"""  # keys decide on rows that are seen


@pytest.fixture
def open_report(browser, tmp_path):
    """Open report data in a new window; what the page should not have done fails the test at its end."""
    contexts, troubles = [], []

    def watch(page, address):
        page.on("console", lambda said: troubles.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        allowed = (address, "data:", "blob:")
        page.on("request", lambda r: r.url.startswith(allowed) or troubles.append(f"request: {r.url}"))

    def open_(data, script="", is_at_top=False, **options):
        path = tmp_path / "report.html"
        path.write_text(render(data), encoding="utf-8")
        options = {"viewport": {"width": 1200, "height": 900}, "accept_downloads": True, **options}
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        watch(page, path.as_uri())
        if script:
            page.add_init_script(script)
        page.goto(path.as_uri())
        if not is_at_top:
            page.evaluate(TO_THE_REVIEW)
        return page

    yield open_
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.__pwned") is None
        context.close()
    assert troubles == []
