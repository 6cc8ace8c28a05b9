"""The routes of the pages, without a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwater.service.pages.card import card_view
from headwater.service.pages.drawing import CurvePoint, Mark, curve, meter, spark
from headwater.service.pages.fields import CardLayout, Field
from headwater.service.pages.known import known_features
from headwater.service.pages.wording import plain
from service.running import ADDRESS, Running, code, running

GET = ("label", "", "features", "people", "start", "events/e0")
POST = ("label/cards", "label/acts", "people/invite", "people/settle")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "plant.db") as site:
        for i in range(5):
            site.service.streams["main"].receive({"rain": float(i)}, id=f"e{i}")
        yield site


def test_no_page_of_a_stream_is_shown_without_its_role(site: Running) -> None:
    nobody, sender = site.client(), site.client("ingest")
    for page in GET:
        assert code(nobody.get(f"/s/main/{page}")) == (401, "no_token"), page
        assert code(sender.get(f"/s/main/{page}")) == (403, "wrong_role"), page
    for page in POST:
        assert code(nobody.post(f"/s/main/{page}", json={})) == (401, "no_token"), page
        assert code(sender.post(f"/s/main/{page}", json={})) == (403, "wrong_role"), page


def test_a_reader_cannot_answer_invite_or_settle(site: Running) -> None:
    reader = site.client("read")
    assert reader.get("/s/main/people").status_code == 200
    assert "Invite" not in reader.get("/s/main/people").text
    for page in POST:
        assert code(reader.post(f"/s/main/{page}", json={})) == (403, "wrong_role"), page


def test_a_person_with_a_browser_is_sent_to_log_in(site: Running) -> None:
    nobody = site.client()
    reply = nobody.get("/s/main/label", headers={"accept": "text/html"}, follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")


@pytest.mark.parametrize(
    ("path", "role", "status", "says"),
    [
        ("/s/main/events/<b>lost</b>", "read", 404, "There is no event"),
        ("/s/nowhere/", "read", 404, "nowhere"),
        ("/no/such/page", "read", 404, "There is nothing at"),
        ("/s/main/people", "ingest", 403, "role"),
    ],
)
def test_a_person_with_a_browser_reads_errors_on_a_page(
    site: Running, path: str, role: str, status: int, says: str
) -> None:
    reply = site.client(role).get(path, headers={"accept": "text/html"})
    assert reply.status_code == status
    assert reply.headers["content-type"].startswith("text/html")
    assert says in reply.text
    assert "To the overview" in reply.text
    assert "<b>lost" not in reply.text
    plain_reply = site.client(role).get(path)
    assert plain_reply.headers["content-type"] == "application/json"


def test_a_session_must_send_its_csrf_token_with_every_act(site: Running) -> None:
    grant = site.service.access.add_person("ada", ["label"], None)
    browser = TestClient(site.app, ADDRESS)
    browser.post("/session", json={"code": site.service.access.invite(grant)[0]})
    page = browser.get("/s/main/label")
    body = {"have": [], "wanted": 1}
    assert code(browser.post("/s/main/label/cards", json=body)) == (403, "bad_csrf")
    csrf = page.text.partition('data-csrf="')[2].partition('"')[0]
    reply = browser.post("/s/main/label/cards", json=body, headers={"X-CSRF-Token": csrf})
    assert len(reply.json()["cards"]) == 1


def act(client: TestClient, *acts: dict[str, Any], wanted: int = 0) -> Any:
    body = {"acts": list(acts), "have": [], "wanted": wanted}
    return client.post("/s/main/label/acts", json=body).json()


def test_an_undo_that_is_sent_again_takes_back_nothing_more(site: Running) -> None:
    ada, desk = site.client("label"), site.service.streams["main"].desk
    held = ada.post("/s/main/label/cards", json={"have": [], "wanted": 2}).json()["cards"]
    one, two = (card["question"] for card in held)
    answers = [
        {"act": "answer", "question": question, "label": True, "key": f"k{question}"}
        for question in (one, two)
    ]
    undo = {"act": "undo", "question": two, "key": "u"}
    again = {"act": "answer", "question": two, "label": False, "key": "second"}
    for _ in range(2):  # as if the first reply had been lost
        done = act(ada, *answers, undo, again)["done"]
        assert [one["ok"] for one in done] == [True] * 4
    assert {r.question: r.label for r in desk.questions(None)} | {one: True, two: False} == {
        r.question: r.label for r in desk.questions(None)
    }


def test_an_act_that_the_desk_refuses_says_why_and_the_others_count(site: Running) -> None:
    ada, bob = site.client("label"), site.service.streams["main"].desk
    (card,) = bob.lease("bob", 1)
    bob.answer(card, True, by="bob")
    taken = {"act": "answer", "question": card.question, "label": False, "key": "a"}
    fine = {"act": "skip", "question": 1, "key": "b"}
    done = act(ada, taken, fine)["done"]
    assert [one["ok"] for one in done] == [False, True]
    assert str(card.question) in done[0]["text"] or "answered" in done[0]["text"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"acts": 3},
        {"acts": [1], "have": [], "wanted": 0},
        {"acts": [{"act": "dance", "question": 1, "key": ""}], "have": [], "wanted": 0},
        {"acts": [{"act": "answer", "question": True, "key": ""}], "have": [], "wanted": 0},
        {
            "acts": [{"act": "answer", "question": 1, "key": "", "label": {}}],
            "have": [],
            "wanted": 0,
        },
        {"acts": [], "have": {}, "wanted": 0},
        {"acts": [], "have": [], "wanted": "3"},
    ],
)
def test_a_body_that_does_not_fit_is_refused(site: Running, body: Any) -> None:
    reply = site.admin.post("/s/main/label/acts", json=body)
    assert code(reply) == (400, "bad_request")


def test_a_page_about_what_is_not_there_says_so(site: Running) -> None:
    assert code(site.admin.get("/s/nowhere/label"))[0] == 404
    assert code(site.admin.get("/s/main/events/nothing"))[0] == 404


def test_pages_have_no_inline_script_or_style_and_files_have_versions(site: Running) -> None:
    for page in GET:
        text = site.admin.get(f"/s/main/{page}").text
        assert "<script>" not in text
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick=" not in text
        assert "http" not in text.replace(ADDRESS, "")
    address = text.partition('stylesheet" href="')[2].partition('"')[0]
    reply = site.admin.get(address)
    assert "immutable" in reply.headers["cache-control"]
    assert "script-src 'self'" in reply.headers["content-security-policy"]


def test_what_is_left_of_a_card_is_told_once_the_values_are_many(site: Running) -> None:
    plant = site.service.streams["main"]
    plant.receive({f"sensor {i}": float(i) for i in range(60)}, id="wide")
    cards = site.admin.post("/s/main/label/cards", json={"have": [], "wanted": 10}).json()["cards"]
    (wide,) = (card for card in cards if "sensor 0" in card["html"])
    assert wide["html"].count('<dd class="amount">') == 24
    assert "36 more values" in wide["html"]


def test_a_category_of_a_file_is_shown_as_its_column_has_it_and_can_be_hidden(
    site: Running,
) -> None:
    plant = site.service.streams["main"]
    long = "a remark of more than forty characters, which gets lines of its own"
    plant.receive({"town=Ulm": 1.0, f"note={long}": 1.0, "a=b": 2.0, "who=ada": 1.0}, id="row")
    (row,) = (card for card in plant.desk.lease("ada", 10) if card.event == "row")
    layout = CardLayout(fields={"who": Field(hidden=True)})
    view = card_view(row, known_features([]), layout=layout, now=0.0)
    assert [(one.name, one.amount) for one in view.values] == [("town", "Ulm"), ("a=b", "2")]
    assert view.texts == [("note", long)]


def test_labels_and_keys_come_from_the_settings() -> None:
    layout = CardLayout(names={"true": "incident [x]", "false": "all is well", "3": "three [u]"})
    assert [(c.name, c.key) for c in layout.classes([False, True])] == [
        ("incident", "x"),
        ("all is well", "1"),
    ]
    assert layout.classes([3])[0] == (3, "three [u]", "1"), "U is the key of unsure"


def test_values_are_known_from_recent_events() -> None:
    events = [(float(i), {"steady": 5.0, "wave": float(i % 2)}) for i in range(100)]
    events[-1][1]["born"] = 1.0
    known = known_features(events)
    wave, born = known.get("wave"), known.get("born")
    assert wave is not None
    assert born is not None
    assert (wave.mean, wave.spread, len(wave.recent)) == (0.5, 0.5, 64)
    assert wave.spreads(2.0) == 3.0
    assert (born.state, wave.state) == ("new", "live")
    assert known.usual() == ["steady", "wave"]
    assert known.rate(100.0) == ("1", "second")
    assert known.rate(1_000.0) == ("0", "hour"), "none came lately"


def test_nothing_invisible_is_left_in_a_text() -> None:
    assert plain("a\x1b[31mb") == "a\\x1b[31mb"
    assert plain("\u202eevil\u2066 \ud800") == "\\u202eevil\\u2066 \\ud800"
    assert plain("naïve 漢字 🙂") == "naïve 漢字 🙂"


@pytest.mark.parametrize(
    "values", [[], [1.0], [1.0, 1.0], [1e308, -1e308], [float("nan"), 2.0], [0.0, 5e-324]]
)
def test_any_values_can_be_drawn(values: list[float]) -> None:
    for here in (None, 0.0, 1e308, float("inf")):
        drawn = str(spark(values, here))
        assert drawn.startswith("<svg")
        assert "nan" not in drawn
        assert "inf" not in drawn


def test_a_curve_stays_inside_its_picture_and_writes_names_as_text() -> None:
    points = [CurvePoint(float(i), 1 / (1 + i), 0.0, 2 / (1 + i)) for i in range(20)]
    drawn = str(curve(points, title="<b>", percent=True, marks=[Mark(3.0, "born", "<i>")]))
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "&lt;i&gt;" in drawn
    heights = [
        float(pair.split(",")[1]) for pair in drawn.partition('points="')[2].split('"')[0].split()
    ]
    assert all(0 <= y <= 240 for y in heights)
    assert "nan" not in str(curve([CurvePoint(1.0, 0.0)], title="one"))
    assert 'width="100.0"' in meter(7, 2, title="more than all")
