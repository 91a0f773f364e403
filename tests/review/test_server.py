"""Who is answered: the page with the link, on this machine; what becomes of decisions, and of fits that fail."""

import http.client
import json
import socket
import threading
import time

import pytest

from report_case import make_report
from siis.app.report import read_report, render
from siis.app.report.data import Finding, to_json
from siis.app.review import Refit, ReviewServer, Session
from siis.app.review.server import HEADERS
from siis.decisions import Journal

DECISION = {"id": "example-00000", "decision": "kept", "label": "cat"}


class Served:
    def __init__(self, folder, refit):
        self.journal = Journal(folder, "t")
        self.report = make_report()
        ids = {one.id for one in self.report.suspects}
        self.session = Session(self.journal, self.report, ids, {}, refit, pause=0.05)
        self.server = ReviewServer(self.session)
        self.port = self.server.server_address[1]
        self.session.start()
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def ask(self, method="GET", path="/state", body=None, drop=(), **headers):
        plain = {"Host": f"127.0.0.1:{self.port}", "X-Siis-Token": self.server.token}
        if method == "POST":
            plain |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        plain |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        if method == "POST":
            plain.setdefault("Content-Length", str(len(content)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in plain.items():
            if name not in drop:
                connection.putheader(name, value)
        connection.endheaders(content if method == "POST" else None)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), answer.headers
        connection.close()
        return found

    def close(self):
        self.session.end()
        self.server.shutdown()
        self.server.server_close()
        self.journal.close()


@pytest.fixture
def served(tmp_path):
    calls = []

    def refit(checked):
        calls.append(dict(checked))
        if "dog" in checked.values():
            raise ValueError("a label must not be dog; it is. Choose another.")
        return Refit(make_report(12 - len(checked)), lambda: None)

    found = Served(tmp_path, refit)
    found.calls = calls
    yield found
    found.close()


def test_the_page_and_the_state(served):
    status, page, headers = served.ask(path=f"/?token={served.server.token}", drop=["X-Siis-Token"])
    assert status == 200
    assert page == render(served.report, str(served.journal.path))
    assert "connect-src &#39;self&#39;;" in page
    assert "connect-src" not in render(served.report)
    assert headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert "Python" not in headers["Server"]
    status, state, _ = served.ask()
    assert json.loads(state)["decisions"] == []
    assert served.ask(path=f"/state?known={json.loads(state)['number']}")[0] == 204
    assert served.ask(path="/decisions.jsonl")[0] == 404
    assert served.ask("POST", "/elsewhere", DECISION)[0] == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("drop", "headers", "sentence"),
    [
        (["X-Siis-Token"], {}, "the token is missing"),
        ([], {"X_Siis_Token": "guess"}, "the token is missing"),
        ([], {"X_Siis_Token": ""}, "the token is missing"),
        ([], {"Host": "evil.example:80"}, "this address is not the one"),
        ([], {"Host": "127.0.0.1"}, "this address is not the one"),
        (["Host"], {}, "this address is not the one"),
        ([], {"Origin": "http://evil.example"}, "another site"),
        ([], {"Origin": "null"}, "another site"),
    ],
)
def test_strangers_are_refused(served, method, drop, headers, sentence):
    status, said, answered = served.ask(method, "/decisions" if method == "POST" else "/", DECISION, drop, **headers)
    assert status == 403
    assert said.startswith(sentence)
    assert not [name for name in answered if name.lower().startswith("access-control")]
    assert served.journal.made == {}


def test_what_is_no_decision_is_refused(served):
    post = ("POST", "/decisions")
    assert served.ask(*post, DECISION, ["Origin"])[0] == 403
    assert served.ask(*post, DECISION, Content_Type="text/plain")[0] == 415
    assert served.ask(*post, DECISION, ["Content-Length"])[0] == 411
    assert served.ask(*post, DECISION, Content_Length="99999999999999")[0] == 413
    assert served.ask(*post, b"x" * 70_000)[0] == 413
    for body in (b"{", b"\xff", b"9" * 5000, b"[" * 60_000, [], [1], "id", None, {**DECISION, "more": 1}, {"id": 1}):
        status, said, _ = served.ask(*post, body)
        assert (status, said) == (400, "a decision must be a JSON object with id, decision and label")
    for change in ({"decision": "eaten"}, {"decision": ["kept"]}, {"id": 1}, {"id": []}, {"label": None}):
        status, said, _ = served.ask(*post, {**DECISION, **change})
        assert status == 400
        assert said.startswith("a decision must ")
    status, said, _ = served.ask(*post, {**DECISION, "label": "yak"})
    assert (status, said) == (400, "there is no class 'yak' in these results")
    status, said, _ = served.ask(*post, {**DECISION, "id": "nobody"})
    assert (status, said) == (400, "there is no example 'nobody' in these results")
    status, said, _ = served.ask(*post, {**DECISION, "label": "dog"})
    assert (status, said) == (400, "'example-00000' is not listed with a label 'dog' to keep")
    assert served.journal.made == {}
    assert (
        served.ask(*post, DECISION, Host=f"localhost:{served.port}", Origin=f"http://localhost:{served.port}")[0]
        == 200
    )


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "EAT"])
def test_other_requests_are_refused_as_all_are(served, method):
    status, said, headers = served.ask(method, "/decisions")
    assert status == 501
    assert said == ("" if method == "HEAD" else "siis review answers only requests of its own page")
    assert {**HEADERS, "Content-Type": "text/plain; charset=utf-8"}.items() <= dict(headers).items()
    assert headers["Connection"] == "close"


def test_what_is_no_request_is_refused_as_all_are(served):
    for line in (b"GET / HTTP/x", b"GET / a HTTP/1.1"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
            connection.sendall(line + b"\r\n\r\n")
            said = connection.makefile("rb").read().decode()
        assert said.startswith("HTTP/1.1 4")
        assert "X-Frame-Options: DENY\r\n" in said
        assert said.endswith("\r\n\r\nsiis review answers only requests of its own page")


def test_only_loopback_listens(served):
    assert served.server.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError, match=r"refused|unreachable|not valid|timed out"):
        socket.create_connection(("127.0.0.2", served.port), timeout=2).close()


def wait(holds):
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_decisions_are_fitted_and_a_failure_loses_nothing(served):
    status, said, _ = served.ask("POST", "/decisions", DECISION)
    assert status == 200
    assert json.loads(said)["decisions"] == [["example-00000", "kept", "cat"]]
    assert json.loads(said)["isFitted"] is False
    wait(lambda: served.session.state()["isFitted"])
    assert served.calls == [{"example-00000": "cat"}]
    page = served.ask(path="/")[1]
    assert page == render(make_report(11), str(served.journal.path))
    served.ask("POST", "/decisions", {"id": "example-00001", "decision": "chosen", "label": "dog"})
    wait(lambda: served.session.state()["failed"])
    state = served.session.state()
    assert state["failed"] == "a label must not be dog; it is. Choose another."
    assert len(state["decisions"]) == 2
    assert not state["isFitted"]
    assert served.ask(path="/")[1] == page
    time.sleep(0.3)
    assert len(served.calls) == 2  # not over and over
    served.ask("POST", "/decisions", {"id": "example-00001", "decision": "undone", "label": None})
    wait(lambda: served.session.state()["isFitted"])
    assert served.session.end()


def test_a_review_that_ends_writes_nothing_more(tmp_path):
    begun, go, written = threading.Event(), threading.Event(), []

    def refit(checked):
        begun.set()
        go.wait(10)
        return Refit(make_report(), lambda: written.append(1))

    served = Served(tmp_path, refit)
    served.ask("POST", "/decisions", DECISION)
    assert begun.wait(10)
    assert not served.session.end()
    go.set()
    time.sleep(0.2)
    assert written == []
    served.close()


def test_decisions_on_other_data_are_refused(tmp_path):
    (tmp_path / "decisions.jsonl").write_text('{"id": "gone", "decision": "kept", "label": "cat", "table": "t"}\n')
    with Journal(tmp_path, "t") as journal, pytest.raises(ValueError, match="there is no id 'gone' in them"):
        Session(journal, make_report(), {"here"}, {}, lambda checked: Refit(make_report(), lambda: None))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pictures": True, "columns": ("a", "b"), "n_queries": 4},
        {"map": None, "noise": None, "findings": [Finding("T", "A sentence.", ["c"], [["<b>"]])]},
    ],
)
def test_a_report_is_read_as_it_was_written(tmp_path, changes):
    data = make_report(**changes)
    path = tmp_path / "report.json"
    path.write_text(to_json(data), encoding="utf-8")
    assert read_report(path) == data
    assert render(read_report(path)) == render(data)
    for content in ("", "[]", "{}", "[" * 100_000, to_json(data).replace('"counts"', '"count"')):
        path.write_text(content)
        with pytest.raises(ValueError, match="must be a report as this version"):
            read_report(path)
