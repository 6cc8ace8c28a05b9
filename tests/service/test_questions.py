"""The desk over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import headwater as hw
from service.running import Running, code, running
from service.test_access import logged_in

STREAM = "/v1/streams/main"


@pytest.fixture
def one(database: str) -> Iterator[Running]:
    with running(database) as service:
        for number in range(4):
            event = {"id": f"e{number}", "features": {"x": float(number), "at": "roof"}}
            assert service.admin.post(f"{STREAM}/events", json=event).json()["asked"]
        yield service


def lease(client: TestClient, by: str | None = None, n: int = 1) -> list[dict[str, object]]:
    body = {"n": n} if by is None else {"n": n, "by": by}
    cards: list[dict[str, object]] = client.post(f"{STREAM}/questions/lease", json=body).json()
    return cards


def test_two_people_never_get_one_card(one: Running) -> None:
    desk = one.client("label")
    ada, bob = lease(desk, "ada", 2), lease(desk, "bob", 4)
    assert len(ada) == len(bob) == 2
    assert not {card["question"] for card in ada} & {card["question"] for card in bob}
    assert [card["question"] for card in lease(desk, "ada", 2)] == [
        card["question"] for card in ada
    ]


def test_a_card_shows_the_event_and_its_answer_is_learned(one: Running) -> None:
    desk = one.client("label")
    (card,) = lease(desk)
    assert card["features"] == [["x", float(str(card["event"])[1:])], ["at", "roof"]]
    done = desk.post(f"/v1/questions/{card['question']}/answer", json={"label": True, "key": "k"})
    assert (done.json()["state"], done.json()["repeated"]) == ("answered", False)
    again = desk.post(f"/v1/questions/{card['question']}/answer", json={"label": True, "key": "k"})
    assert again.json() == {**done.json(), "repeated": True}
    rows = one.admin.get(f"{STREAM}/questions?state=answered").json()
    assert [(row["question"], row["label"], row["person"]) for row in rows] == [
        (card["question"], True, "tester")
    ]


def test_an_answer_is_undone_and_corrected(one: Running) -> None:
    desk = one.client("label")
    (card,) = lease(desk)
    path = f"/v1/questions/{card['question']}"
    number = desk.post(f"{path}/answer", json={"label": True}).json()["number"]
    changed = desk.put(f"/v1/answers/main:{number}", json={"label": False})
    assert changed.status_code == 200
    assert one.service.streams["main"].wait(60)
    told = one.admin.get(f"{STREAM}/events/{card['event']}").json()
    assert told["answers"][-1]["label"] is False
    assert desk.post(f"{path}/undo", json={}).json()["state"] == "open"
    assert code(desk.post(f"{path}/undo", json={})) == (409, "not_open")


def test_the_last_act_is_undone_whatever_it_was(one: Running) -> None:
    desk = one.client("label")
    (card,) = lease(desk)
    path = f"/v1/questions/{card['question']}"
    assert desk.post(f"{path}/answer", json={"act": "skip"}).json()["state"] == "skipped"
    back = desk.post(f"{STREAM}/questions/undo", json={}).json()
    assert back["question"] == card["question"]
    assert lease(desk)[0]["question"] == card["question"]
    assert desk.post(f"{path}/answer", json={"act": "unsure"}).json()["state"] == "unsure"
    (other,) = lease(desk)
    assert other["question"] != card["question"]
    bad = desk.post(f"/v1/questions/{other['question']}/answer", json={"act": "bad"})
    assert bad.json()["state"] == "bad"
    (third,) = lease(desk)
    release = desk.post(f"/v1/questions/{third['question']}/answer", json={"act": "release"})
    assert release.json()["state"] == "open"


def test_somebody_who_is_logged_in_answers_for_themselves_only(one: Running) -> None:
    browser, csrf = logged_in(one, "label")
    header = {"X-CSRF-Token": csrf}
    path = f"{STREAM}/questions/lease"
    assert code(browser.post(path, json={})) == (403, "bad_csrf")
    assert code(browser.post(path, json={"by": "bob"}, headers=header)) == (403, "wrong_role")
    (card,) = browser.post(path, json={}, headers=header).json()
    other = one.client("label")
    answer = f"/v1/questions/{card['question']}/answer"
    assert code(other.post(answer, json={"label": True})) == (409, "not_open")
    done = browser.post(answer, json={"label": True}, headers=header).json()
    put = f"/v1/answers/main:{done['number']}"
    assert code(other.put(put, json={"label": False})) == (403, "wrong_role")
    assert one.admin.put(put, json={"label": False}).status_code == 200


@pytest.mark.parametrize(
    ("question", "body", "expected"),
    [
        ("main:99", {"label": True}, (404, "not_found")),
        ("main:x", {"label": True}, (404, "not_found")),
        ("1", {"label": True}, (404, "not_found")),
        ("other:1", {"label": True}, (404, "not_found")),
        ("main:1", {}, (422, "bad_parameter")),
        ("main:1", {"act": "skip", "label": True}, (422, "bad_parameter")),
        ("main:1", {"act": "eat"}, (400, "bad_request")),
        ("main:1", {"label": [1]}, (400, "bad_request")),
        ("main:1", {"label": True, "by": "a\nb"}, (422, "bad_parameter")),
    ],
)
def test_an_answer_that_cannot_be_is_refused(
    one: Running, question: str, body: object, expected: tuple[int, str]
) -> None:
    assert code(one.admin.post(f"/v1/questions/{question}/answer", json=body)) == expected


def test_a_label_that_does_not_fit_is_refused(one: Running) -> None:
    assert one.admin.post("/v1/questions/main:1/answer", json={"label": True}).status_code == 200
    reply = one.admin.post("/v1/questions/main:2/answer", json={"label": "green"})
    assert code(reply) == (422, "bad_label")


def test_what_people_say_in_a_dispute_is_settled_by_an_admin(tmp_path: Path) -> None:
    path = tmp_path / "plant.db"
    with hw.live.open(path, learner=hw.OLSF(), desk=hw.live.DeskSettings(overlap=2)):
        pass
    with running(path) as one:
        one.admin.post(f"{STREAM}/events", json={"features": {"x": 1.0}})
        answer = "/v1/questions/main:1/answer"
        for by, label in (("ada", True), ("bob", False)):
            assert len(lease(one.admin, by)) == 1
            assert one.admin.post(answer, json={"label": label, "by": by}).status_code == 200
        (dispute,) = one.admin.get(f"{STREAM}/disputes").json()
        assert sorted(dispute["labels"]) == [["ada", True], ["bob", False]]
        settle = {"label": True}
        assert code(one.client("label").post("/v1/questions/main:1/settle", json=settle)) == (
            403,
            "wrong_role",
        )
        assert one.admin.post("/v1/questions/main:1/settle", json=settle).status_code == 200
        assert one.admin.get(f"{STREAM}/disputes").json() == []
