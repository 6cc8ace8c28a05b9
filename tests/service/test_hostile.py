"""Requests that mean no good: each gets its status, its code and a sentence; nothing changes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from headwater.service.api import OPERATIONS
from headwater.service.endpoint import Operation
from headwater.service.errors import CODES, codes_table
from service.running import Running, code, running
from service.test_access import logged_in

EVENTS = "/v1/streams/main/events"
JSON = {"Content-Type": "application/json"}
LIMITS: dict[str, Any] = {"body_bytes": 60_000, "batch_events": 50, "body_seconds": 0.3}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("hostile") / "plant.db", **LIMITS) as service:
        yield service


class Hostile(NamedTuple):
    """A request, and what it is answered with: status, code, and some words of the sentence."""

    name: str
    content: bytes
    expected: tuple[int, str]
    words: str
    method: str = "POST"
    path: str = EVENTS
    headers: dict[str, str] = JSON


def features(text: str) -> bytes:
    return b'{"features":{%s}}' % text.encode()


TABLE = [
    Hostile("nothing", b"", (400, "bad_json"), "not JSON"),
    Hostile("half an object", b'{"features":{"a":1', (400, "bad_json"), "truncated"),
    Hostile("two objects", b'{"features":{}} {}', (400, "bad_json"), "trailing"),
    Hostile("binary", bytes(range(256)), (400, "bad_json"), "not JSON"),
    Hostile("not UTF-8", b'{"features":{"\xff":1}}', (400, "bad_json"), "not JSON"),
    Hostile("half a surrogate", features('"a":"\\ud800"'), (400, "bad_json"), "not JSON"),
    Hostile("a byte order mark", b"\xef\xbb\xbf" + features(""), (400, "bad_json"), "not JSON"),
    Hostile("NaN", features('"a":NaN'), (400, "bad_json"), "not JSON"),
    Hostile("Infinity", features('"a":-Infinity'), (400, "bad_json"), "not JSON"),
    Hostile("1e999", features('"a":1e999'), (400, "bad_request"), "out of range"),
    Hostile("5,000 digits", features('"a":' + "9" * 5000), (400, "bad_request"), "out of range"),
    Hostile("a huge value", features('"a":1e300'), (422, "bad_event"), "a"),
    Hostile("an array as value", features('"a":[1]'), (400, "bad_request"), "got `array`"),
    Hostile("an object as value", features('"a":{"b":1}'), (400, "bad_request"), "got `object`"),
    Hostile("features as array", b'{"features":[1]}', (400, "bad_request"), "got `array`"),
    Hostile("no features", b'{"id":"a"}', (400, "bad_request"), "missing required field"),
    Hostile("an unknown field", b'{"features":{},"x":1}', (400, "bad_request"), "unknown field"),
    Hostile("a number", b"1", (400, "bad_request"), "got `int`"),
    Hostile("deep arrays", b"[" * 50_000, (400, "bad_request"), "got `array`"),
    Hostile("deep objects", b'{"features":' * 4_000, (400, "bad_request"), "got `object`"),
    Hostile("a feature twice", features('"a":1,"a":2'), (400, "duplicate_key"), "'a' twice"),
    Hostile("a feature twice, escaped", features('"a":1,"\\u0061":2'),
            (400, "duplicate_key"), "'a'"),
    Hostile("a feature thrice, the texts made up for", features('"a":1,"a":2,"b":"c"'),
            (400, "duplicate_key"), "'a' twice"),
    Hostile("a field twice", b'{"id":"a","id":"b","features":{}}', (400, "duplicate_key"), "'id'"),
    Hostile("a feature twice in one of many", b'[{"features":{"a":1}},{"features":{"b":1,"b":1}}]',
            (400, "duplicate_key"), "'b'"),
    Hostile("a field twice in lines", b'{"features":{"a":1}}\n{"features":{"b":1,"b":1}}',
            (400, "duplicate_key"), "'b'", headers={"Content-Type": "application/x-ndjson"}),
    Hostile("bad lines", b'{"features":{"a":1}}\nnot', (400, "bad_json"), "JSON lines",
            headers={"Content-Type": "application/x-ndjson"}),
    Hostile("an id that is empty", b'{"id":"","features":{}}', (400, "bad_request"), "length >= 1"),
    Hostile("an id that is long", b'{"id":"%s","features":{}}' % (b"x" * 513),
            (400, "bad_request"), "length <= 512"),
    Hostile("an id that looks like a fact's", b'{"id":"#1","features":{}}',
            (422, "bad_event"), "'#'"),
    Hostile("an id that is a fraction", b'{"id":1.5,"features":{}}', (400, "bad_request"), "float"),
    Hostile("an id of 70 bits", b'{"id":1180591620717411303424,"features":{}}',
            (400, "bad_request"), "<="),
    Hostile("a label that is an object", b'{"features":{},"label":{}}',
            (400, "bad_request"), "object"),
    Hostile("a long name", features(f'"{"n" * 1_025}":1'), (422, "bad_event"), "1024"),
    Hostile("a large body", features('"a":"%s"' % ("x" * 60_000)), (413, "too_large"), "60,000"),
    Hostile("many events", json.dumps([{"features": {}}] * 51).encode(), (413, "too_large"), "51"),
    Hostile("text/plain", features('"a":1'), (415, "not_json"), "application/json",
            headers={"Content-Type": "text/plain"}),
    Hostile("a form", b"features=1", (415, "not_json"), "application/json",
            headers={"Content-Type": "application/x-www-form-urlencoded"}),
    Hostile("no content type", features('"a":1'), (415, "not_json"), "got 'nothing'", headers={}),
    Hostile("a Host of DNS rebinding", features('"a":1'), (421, "wrong_host"), "evil.example",
            headers={**JSON, "Host": "evil.example:8420"}),
    Hostile("a Host that ends well", features('"a":1'), (421, "wrong_host"), "localhost.evil",
            headers={**JSON, "Host": "localhost.evil.example"}),
    Hostile("a page of another site", features('"a":1'), (403, "wrong_origin"), "other sites",
            headers={**JSON, "Origin": "https://evil.example"}),
    Hostile("a page of another port", features('"a":1'), (403, "wrong_origin"), "other sites",
            headers={**JSON, "Origin": "http://localhost:3000"}),
    Hostile("a page without an origin", features('"a":1'), (403, "wrong_origin"), "other sites",
            headers={**JSON, "Origin": "null"}),
    Hostile("a token of nobody", features('"a":1'), (401, "bad_token"), "unknown",
            headers={**JSON, "Authorization": "Bearer hwt_nobody"}),
    Hostile("a password", features('"a":1'), (401, "bad_token"), "unknown",
            headers={**JSON, "Authorization": "Basic YWRtaW46YWRtaW4="}),
    Hostile("a method that is not there", b"", (405, "wrong_method"), "POST", method="DELETE"),
    Hostile("a path up", b"", (404, "no_route"), "nothing", "GET", "/v1/streams/%2e%2e%2f%2e%2e/x"),
    Hostile("a path to a file", b"", (404, "no_route"), "nothing", "GET",
            "/static/..%2f..%2fapp.py"),
    Hostile("a path with a slash more", b"", (404, "no_route"), "nothing", "GET", "/v1/streams/"),
    Hostile("a path with NUL", b"", (404, "not_found"), "stream", "GET", "/v1/streams/a%00b"),
    Hostile("another stream", features('"a":1'), (404, "not_found"), "'other'",
            path="/v1/streams/other/events"),
    Hostile("a stream named as a path", b'{"name":"../x"}', (400, "bad_request"), "name",
            path="/v1/streams"),
    Hostile("a person with a line break", b'{"name":"a\\nb","roles":["label"]}',
            (422, "bad_parameter"), "printable", path="/v1/people"),
    Hostile("a role that is not there", b'{"name":"a","roles":["king"]}', (400, "bad_request"),
            "king", path="/v1/people"),
    Hostile("no role", b'{"name":"a","roles":[]}', (400, "bad_request"), "roles",
            path="/v1/tokens"),
    Hostile("a webhook to a file", b'{"url":"file:///etc/passwd","stream":"main"}',
            (422, "bad_parameter"), "https://", path="/v1/webhooks"),
    Hostile("a login with both", b'{"code":"a","token":"b"}', (422, "bad_parameter"), "either",
            path="/session"),
    Hostile("a login with a guess", b'{"code":"letmein"}', (401, "bad_token"), "invitation",
            path="/session"),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_hostile_request_gets_a_sentence_and_changes_nothing(one: Running, row: Hostile) -> None:
    before = (one.service.streams["main"].head, list(one.service.streams))
    reply = one.admin.request(row.method, row.path, content=row.content, headers=row.headers)
    assert code(reply) == row.expected
    assert row.words in reply.json()["error"]["message"]
    assert len(reply.json()["error"]["message"]) < 700
    assert (one.service.streams["main"].head, list(one.service.streams)) == before


def test_a_replayed_csrf_token_of_another_session_is_refused(one: Running) -> None:
    browser, _ = logged_in(one, "label", name="mallory")
    _, other = logged_in(one, "label", name="alice")
    header = {"X-CSRF-Token": other}
    reply = browser.post("/v1/streams/main/questions/lease", json={}, headers=header)
    assert code(reply) == (403, "bad_csrf")


def filled(operation: Operation) -> str:
    """The path with something in place of its parameters."""
    path = operation.path
    for part, text in (("{s}", "main"), ("{id:path}", "e1"), ("{id}", "x"), ("{name}", "ada")):
        path = path.replace(part, text)
    return path.replace("{q}", "main:1").replace("{a}", "main:2")


GUARDED = [one for one in OPERATIONS if one.role is not None]
NEEDS_NOBODY = {
    *("/session", "/healthz", "/readyz", "/v1/openapi.json"),
}


def test_only_these_routes_answer_everybody() -> None:
    assert {one.path for one in OPERATIONS if one.role is None} == NEEDS_NOBODY


@pytest.mark.parametrize("operation", GUARDED, ids=lambda one: f"{one.method} {one.path}")
def test_no_route_answers_without_its_role(one: Running, operation: Operation) -> None:
    path = filled(operation)

    def ask(client: TestClient) -> Any:
        return client.request(operation.method, path, json={})

    assert code(ask(one.client())) == (401, "no_token")
    others = {"ingest", "label", "read"} - {operation.role}
    assert code(ask(one.client(*others))) == (403, "wrong_role")
    if "main" in path:
        elsewhere = one.client("ingest", "label", "read", streams=["elsewhere"])
        assert code(ask(elsewhere)) == (403, "wrong_role")


def test_a_cookie_does_for_a_role_what_a_token_does(one: Running) -> None:
    browser, _ = logged_in(one, "read", name="reader")
    assert browser.get("/v1/streams").status_code == 200
    assert code(browser.get("/v1/people")) == (403, "wrong_role")


def test_a_sender_of_more_requests_than_allowed_is_told_to_wait(tmp_path: Path) -> None:
    with running(tmp_path / "plant.db", requests_per_second=2.0) as one:
        client = one.client("read")
        replies = [client.get("/v1/streams") for _ in range(6)]
        assert [reply.status_code for reply in replies][:2] == [200, 200]
        assert code(replies[-1]) == (429, "too_many_requests")
        assert int(replies[-1].headers["Retry-After"]) >= 1
        assert one.client("read").get("/v1/streams").status_code == 200


def test_a_body_that_comes_too_slowly_is_not_waited_for(one: Running) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        if not hasattr(receive, "begun"):
            receive.begun = True  # type: ignore[attr-defined]
            return {"type": "http.request", "body": b'{"feat', "more_body": True}
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {**JSON, **dict(one.admin.headers), "host": "localhost"}
    scope = {
        "type": "http", "method": "POST", "path": EVENTS, "raw_path": EVENTS.encode(),
        "query_string": b"", "scheme": "http", "server": ("localhost", 80), "root_path": "",
        "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
    }  # fmt: skip
    asyncio.run(one.app(scope, receive, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_slow"


def test_every_reply_forbids_frames_scripts_of_others_and_guessing(one: Running) -> None:
    for reply in (
        one.client().get("/"),
        one.admin.get("/v1/streams"),
        one.client().get("/nothing"),
    ):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert "server" not in reply.headers


def test_secrets_are_never_in_the_log_and_an_event_id_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "plant.db") as one:
        browser, csrf = logged_in(one, "label")
        cookie = browser.cookies[one.service.access.cookie_name]
        made = one.admin.post("/v1/tokens", json={"name": "plc", "roles": ["ingest"]}).json()
        one.admin.post(EVENTS, json={"id": "line-4/17", "features": {"x": 1.0}})
        one.admin.get(f"/v1/streams?token={made['token']}")
        one.client().post("/session", json={"token": one.service.new_token})
        secrets = [cookie, csrf, made["token"], one.service.new_token]
    log = capfd.readouterr().err
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines if "event" in line] == ["line-4/17"]
    assert not [secret for secret in secrets if str(secret) in log]


def test_a_fault_is_logged_and_not_described_to_strangers(
    one: Running, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(one.service.streams["main"], "status", fail)
    reply = one.admin.get("/v1/streams/main")
    assert code(reply) == (500, "internal")
    assert "swordfish" not in reply.text
    assert "swordfish" in capfd.readouterr().err


def test_every_code_is_in_the_documentation() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "reference" / "service-api.md"
    assert codes_table() in page.read_text()


def test_an_unknown_code_cannot_be_raised() -> None:
    assert all(400 <= one.status < 600 for one in CODES.values())
    assert all(known in CODES for operation in OPERATIONS for known in operation.codes)
