"""The page of a review on the loopback address: for whoever has its link, and for no other page of the browser."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socketserver
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from siis.app.review.session import Session
from siis.decisions import Decision

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")  # host names that a browser on this machine may use
TOKEN = "X-Siis-Token"
MOST = 64 * 1024  # bytes of a decision
PATIENCE = 30  # seconds for which a connection may be silent
HTTP_PORT = 80  # which browsers leave out
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest is in the page
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
FIELDS = {"id", "decision", "label"}  # who decided, and when, the journal knows
FORM = "a decision must be a JSON object with id, decision and label"
TEXT, HTML, JSON = "text/plain; charset=utf-8", "text/html; charset=utf-8", "application/json"


class Refused(Exception):
    """A request that is not answered; the sentence is its reason."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class ReviewServer(ThreadingHTTPServer):
    """Serves a review to this machine; ``link`` is the address of the page with its token. Port 0: any free one."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere it would let another program take the port

    def __init__(self, session: Session, port: int = 0) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.session = session
        self.token = secrets.token_urlsafe(32)
        at = self.server_address[1]
        self.hosts = {f"{name}:{at}" for name in NAMES} | (set(NAMES) if at == HTTP_PORT else set())
        self.link = f"http://{ADDRESS}:{at}/?token={self.token}"

    def server_bind(self) -> None:
        """Bind without looking up the name of the machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that has gone in the middle of an answer needs no words."""


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_GET(self) -> None:
        """The page, or what is new."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """A decision."""
        self._answered(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the terminal is for the reviewer, and addresses hold the token."""

    def version_string(self) -> str:
        """Nothing about versions."""
        return "siis"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what never comes to `do_GET` or `do_POST`, as everything else is refused."""
        self.close_connection = True
        self.request_version = self.protocol_version  # none is known yet; headers would be left out
        self._send(HTTPStatus(code), TEXT, "siis review answers only requests of its own page")

    def _answered(self, work: Any) -> None:
        try:
            status, kind, content = work()
        except Refused as refused:
            self.close_connection = True  # what is left of the request is not read
            status, kind, content = refused.status, TEXT, str(refused)
        self._send(status, kind, content)

    def _send(self, status: HTTPStatus, kind: str, content: str) -> None:
        body = content.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _get(self) -> tuple[HTTPStatus, str, str]:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        self._check(query.get("token", [""])[0] if address.path == "/" else "")
        session = self.server.session
        if address.path == "/":
            return HTTPStatus.OK, HTML, session.page()
        if address.path == "/state":
            state = session.state()
            if query.get("known") == [str(state["number"])]:
                return HTTPStatus.NO_CONTENT, JSON, ""
            return HTTPStatus.OK, JSON, json.dumps(state)
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _post(self) -> tuple[HTTPStatus, str, str]:
        self._check("")
        if self.headers.get_all("Origin", []) == []:
            raise Refused(HTTPStatus.FORBIDDEN, "a decision must come from the page of this review")
        if urlsplit(self.path).path != "/decisions":
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        if self.headers.get("Content-Type", "").split(";")[0].strip().lower() != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a decision must be sent as {JSON}")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a decision must have a Content-Length")
        if int(length[:9]) > MOST or len(length) > 9:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a decision must have at most {MOST:,} bytes")
        try:
            plain = {**json.loads(self.rfile.read(int(length)))}
        except (TypeError, ValueError, RecursionError) as problem:
            raise Refused(HTTPStatus.BAD_REQUEST, FORM) from problem
        if set(plain) != FIELDS:
            raise Refused(HTTPStatus.BAD_REQUEST, FORM)
        try:
            self.server.session.decide(Decision(**plain))
        except ValueError as problem:
            raise Refused(HTTPStatus.BAD_REQUEST, str(problem)) from problem
        except OSError as problem:
            sentence = f"{self.server.session.journal.path} cannot be written: {problem.strerror}"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from problem
        return HTTPStatus.OK, JSON, json.dumps(self.server.session.state())

    def _check(self, token: str) -> None:
        """Refuse requests without the link (Host: rebound names; Origin: pages of another site)."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "this address is not the one that siis review has printed")
        if any(origin not in {f"http://{name}" for name in self.server.hosts} for origin in origins):
            raise Refused(HTTPStatus.FORBIDDEN, "another site must not send requests here")
        sent = token or self.headers.get(TOKEN, "")
        if not hmac.compare_digest(sent.encode("utf-8", "replace"), self.server.token.encode()):
            raise Refused(
                HTTPStatus.FORBIDDEN, "the token is missing or not of this review: open the link it has printed"
            )
