"""The page: the same bytes for the same input, and no text of the data is markup."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from html.parser import HTMLParser

import pytest

from report_case import DOT, NASTY, make_report
from siis.app.report import render
from siis.app.report.data import Noise, to_json
from siis.tables.contrast import MARKED


class Outline(HTMLParser):
    """What a browser would see: elements and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def island(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def hostile():
    data = make_report(len(NASTY), classes=NASTY[:5], ids=NASTY, texts=NASTY)
    trust = replace(data.trust, warnings=list(NASTY), neighbor_search=NASTY[6])
    selection = replace(data.selection, reason=NASTY[6], columns=list(NASTY[:3]))
    return replace(data, title=NASTY[6], source=NASTY[8], summary=list(NASTY), trust=trust, selection=selection)


def test_same_input_same_bytes():
    assert render(make_report()) == render(make_report())
    assert render(make_report()) != render(make_report(13))


def test_the_island_gives_the_data_back():
    data = hostile()
    found = island(render(data))
    expected = asdict(data)
    assert found.pop("pictures") == found.pop("rows") == []
    assert found.pop("marked") == MARKED
    assert found == expected


def test_pictures_are_there_once():
    data = make_report(3, pictures=True)
    found = island(render(data))
    assert found["pictures"] == [DOT]
    assert found["suspects"][2]["neighbors"][1]["thumbnail"] == 0
    assert render(data).count(DOT) == 1


def test_hostile_text_makes_no_elements():
    harmless, harmful = Outline(render(make_report(3))), Outline(render(hostile()))
    added = len(NASTY) - 1 + len(NASTY)  # sentences of the summary beyond one, and warnings
    assert harmful.tags.count("p") == harmless.tags.count("p") + added
    assert [t for t in harmful.tags if t not in ("p", "strong")] == [
        t for t in harmless.tags if t not in ("p", "strong")
    ]
    assert harmful.tags.count("script") == 2
    assert not [name for name, _ in harmful.attributes if name.startswith("on")]


@pytest.mark.parametrize("text", NASTY)
def test_no_character_in_the_island_can_end_it(text):
    written = to_json(make_report(1, ids=[text], texts=[text], title=text))
    assert written.isascii()
    assert not set("<>&") & set(written)


def test_half_characters_do_not_stop_the_file_from_being_written():
    page = render(make_report(1, ids=["\udcff"], title="name \udcff"))
    page.encode("utf-8")
    assert island(page)["suspects"][0]["id"] == "\udcff"


def test_only_the_pages_own_script_may_run():
    page = render(hostile())
    outline = Outline(page)
    policy = next(value for name, value in outline.attributes if name == "content" and "default-src" in value)
    script = page.rsplit("<script>", 1)[1].rsplit("</script>", 1)[0]
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'; ")
    assert f"script-src 'sha256-{fingerprint}'" in policy
    assert "innerHTML" not in script
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not {"src", "href"} & {name for name, value in outline.attributes if not (value or "").startswith("#")}


def test_what_does_not_apply_is_said():
    data = make_report(0, reliability=None, noise=None, selection=None, map=None)
    nothing = replace(
        data.trust,
        graph_score=None,
        graph_word=None,
        noise_rate=None,
        noise_low=None,
        noise_high=None,
        neighbor_recall=None,
    )
    page = render(replace(data, trust=nothing, counts=replace(data.counts, features=None)))
    assert (
        page.split("<script", 1)[0].count("Not applicable") == 5 + 1
    )  # reliability, noise, findings, selection, map; recall
    assert "Not measured" in page
    assert "Not estimated" in page
    assert "ready-made graph" in page
    assert "there is nothing to review" in page
    full = render(make_report())
    for text in ("Not measured", "Not estimated", "ready-made graph", "nothing to review"):
        assert text not in full


def test_counts_of_drawn_points_and_pictures_are_said():
    data = make_report(5, pictures=True, pictured=2)
    page = render(replace(data, map=replace(data.map, placed=30_000, examples=40_000)))
    assert "8 of 30,000 examples are drawn" in page
    assert "10,000 of 40,000 examples are not shown" in page
    assert "Pictures are shown for the worst 2." in page
    assert "are drawn" not in render(make_report(5, pictures=True))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("certified", "it has converged"),
        ("stopped", "it stopped by the paper&#39;s step rule"),
        ("max_iter", "it stopped before it converged"),
    ],
)
def test_status(status, said):
    data = make_report()
    page = render(replace(data, trust=replace(data.trust, status=status))).replace("paper's", "paper&#39;s")
    assert said in page
    assert "The relative duality gap is 1.0e-05: the objective is at most that far above its minimum" in page
    assert "solved" not in page.split("<script", 1)[0].split("</style>")[1]
    unknown = render(replace(data, trust=replace(data.trust, status=status, gap=None)))
    assert "is not known, after 20 iterations" in unknown
    assert "duality gap is" not in unknown.split("<script", 1)[0]


def test_the_page_says_how_to_go_on():
    page = render(make_report(results="out/it's mine"))
    assert "siis corrections corrections.csv --results &#39;out/it&#39;&#34;&#39;&#34;&#39;s mine&#39;" in page
    assert "siis corrections corrections.csv --results results<" in render(make_report(results="results"))
    assert "siis corrections" not in render(make_report(results=""))  # no folder is made up


def test_unreached_examples_come_first():
    data = make_report(9)  # 12 examples
    few = replace(data.trust, unreached=1, graph_word="very good")
    most = replace(few, unreached=7)
    for trust, led in ((few, False), (most, True)):
        page = render(replace(data, trust=trust))
        text = page[page.index('id="trust-title"') : page.index('id="map"')]
        assert text.index("connected to no label") < text.index("very good where labels reach (0.70)")
        assert ("Do not rely on these predictions" in text) == led
        assert text.count("connected to no label") == 1
        assert "reach every example" not in text
    page = render(replace(data, trust=replace(most, unreached=0)))
    assert "very good (0.70)" in page
    assert "connected to no label" not in page


def test_no_nan_gets_in():
    with pytest.raises(ValueError, match="not JSON compliant"):
        render(make_report(noise=Noise([[float("nan")]], [None])))


def test_the_classifier_does_not_bring_the_template_engine_in():
    code = "import sys, siis; from siis import SIISClassifier; print('jinja2' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == "False"


def test_a_share_of_wrong_labels_that_cannot_be_told_is_not_shown():
    data = make_report(4)
    vague = replace(data.trust, noise_rate=0.33, noise_low=0.0, noise_high=0.45, is_rate_known=False)
    words, known = (
        render(replace(data, trust=trust)).split("</style>")[1].split("<script", 1)[0]
        for trust in (vague, replace(vague, is_rate_known=True))
    )
    assert "It cannot be estimated" in words
    assert "At most 45 %: labels and features are only loosely related." in words
    assert "33 %" not in words
    assert "(expected" not in words
    assert "The expected agreement cannot be estimated" in words
    assert "are rough estimates" in words
    assert "about 33 %" in known
    assert "(expected with about 33 % wrong labels: 93 %)" in known
    for text in ("cannot be estimated", "only loosely", "are rough estimates"):
        assert text not in known
    assert island(render(replace(data, trust=vague)))["trust"]["noise_rate"] == 0.33


def test_how_often_sure_answers_agree_is_among_what_to_trust():
    page = render(make_report())
    text = page[page.index('id="trust-title"') : page.index('id="map"')]
    first = "Of the predictions with a probability of 90 to 100 %, about 94 % agree with"
    assert f"<strong>about 94 % do</strong><span>{first}" in text
    assert "below 60 %" not in text  # only under the picture
    assert "Of the predictions with a probability below 60 %, about 40 % agree" in page
    assert "Do confident predictions agree" not in render(make_report(reliability=None))
