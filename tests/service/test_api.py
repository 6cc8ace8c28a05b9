"""What the routes do."""

import json
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from service.running import Running, code, running

EVENTS = "/v1/streams/main/events"


def test_an_event_gets_its_decision(one: Running) -> None:
    reply = one.admin.post(EVENTS, json={"id": "e1", "features": {"ozone": 2.0, "line": "north"}})
    assert reply.status_code == 200
    told = reply.json()
    assert (told["id"], told["number"], told["asked"], told["repeated"]) == ("e1", 1, True, False)
    assert told["question"] == "main:1"


def test_the_same_event_again_gets_the_first_decision_and_another_by_its_id_is_refused(
    one: Running,
) -> None:
    event = {"id": "e1", "features": {"ozone": 2.0}}
    first = one.admin.post(EVENTS, json=event).json()
    assert one.admin.post(EVENTS, json=event).json() == {**first, "repeated": True}
    other = one.admin.post(EVENTS, json={"id": "e1", "features": {"ozone": 3.0}})
    assert code(other) == (409, "id_reused")


@pytest.mark.parametrize("as_lines", [False, True])
def test_many_events_come_as_an_array_or_as_lines_and_refusals_stand_in_their_place(
    one: Running, as_lines: bool
) -> None:
    events: list[dict[str, Any]] = [
        {"id": "a", "features": {"x": 1.0}},
        {"id": "a", "features": {"x": 2.0}},
        {"id": "b", "features": {"x": 1.0}, "label": True},
        {"features": {"x": 3}},
    ]
    if as_lines:
        body = "\n".join(map(json.dumps, events))
        reply = one.admin.post(
            EVENTS, content=body, headers={"Content-Type": "application/x-ndjson"}
        )
    else:
        reply = one.admin.post(EVENTS, json=events)
    first, second, third, fourth = reply.json()
    assert first["number"] == 1
    assert second["error"]["code"] == "id_reused"
    assert (third["id"], third["asked"]) == ("b", False)
    assert fourth["id"].startswith("#")


def test_events_over_http_make_the_same_model_as_events_in_python(
    one: Running, tmp_path: Path
) -> None:
    events = [{f"s{i % 5}": float(i), "t": "x" if i % 2 else "y"} for i in range(40)]
    with hw.live.open(tmp_path / "other.db", learner=hw.OLSF()) as plant:
        for number, x in enumerate(events):
            receipt = plant.receive(x, id=number)
            plant.answer(receipt.number, number % 3 == 0)
        expected = plant.learner.to_bytes()
    for number, x in enumerate(events):
        one.admin.post(EVENTS, json={"features": x, "id": number})
        answer = {"event": number, "label": number % 3 == 0}
        assert one.admin.post("/v1/streams/main/labels", json=answer).status_code == 200
    assert one.admin.get("/v1/streams/main/model/file").content == expected


def test_predicting_changes_nothing(one: Running) -> None:
    for label in (True, False):
        one.admin.post(EVENTS, json={"features": {"x": 1.0 if label else -1.0}, "label": label})
    before = one.service.streams["main"].learner.to_bytes()
    reply = one.admin.post("/v1/streams/main/predict", json={"features": {"x": 2.0}}).json()
    assert reply["prediction"] is True
    assert [one["label"] for one in reply["probabilities"]] == [False, True]
    many = one.admin.post("/v1/streams/main/predict", json=[{"features": {"x": -2.0}}]).json()
    assert many[0]["prediction"] is False
    assert one.service.streams["main"].learner.to_bytes() == before


def test_labels_come_by_event_id_and_a_wrong_one_stands_in_its_place(one: Running) -> None:
    one.admin.post(EVENTS, json={"id": "a/b", "features": {"x": 1.0}})
    labels = [{"event": "a/b", "label": True}, {"event": "nobody", "label": True}]
    done = one.admin.post("/v1/streams/main/labels", json=labels).json()
    assert (done[0]["state"], done[0]["question"]) == ("applied", "main:1")
    assert done[1]["error"]["code"] == "not_found"
    assert one.service.streams["main"].learner.learned == 1


def test_everything_about_an_event(one: Running) -> None:
    one.admin.post(EVENTS, json={"id": "2026-11-16T10:00/line 4", "features": {"b": 1.0, "a": 2}})
    one.admin.post("/v1/streams/main/labels", json={"event": "#1", "label": True})
    told = one.admin.get(f"{EVENTS}/2026-11-16T10:00/line%204").json()
    assert told["features"] == [["b", 1.0], ["a", 2.0]]
    assert (told["question"], told["state"]) == ("main:1", "applied")
    assert [(act["kind"], act["label"]) for act in told["answers"]] == [("answer", True)]
    assert {part["feature"] for part in told["why"]["contributions"]} == {"a", "b"}
    assert one.admin.get(f"{EVENTS}/%231").json() == told
    assert code(one.admin.get(f"{EVENTS}/other")) == (404, "not_found")


def test_an_id_that_is_a_number_is_found_by_its_digits(one: Running) -> None:
    one.admin.post(EVENTS, json={"id": 17, "features": {"x": 1.0}})
    assert one.admin.get(f"{EVENTS}/17").json()["id"] == 17


def test_features_are_listed_largest_weight_first(one: Running) -> None:
    one.admin.post(EVENTS, json={"features": {"small": 0.1, "large": 9.0}, "label": True})
    told = one.admin.get("/v1/streams/main/features").json()
    assert [feature["name"] for feature in told["features"]] == ["large", "small"]
    some = one.admin.get("/v1/streams/main/features?search=SMA").json()
    assert (some["count"], some["features"][0]["name"]) == (1, "small")
    assert code(one.admin.get("/v1/streams/main/features?limit=x")) == (400, "bad_request")


def test_a_stream_is_made_changed_and_deleted(one: Running, database: str) -> None:
    made = one.admin.post(
        "/v1/streams",
        json={"name": "north", "learner": "Spring", "label_rate": 0.5, "keep_events": "2 days"},
    )
    assert (made.status_code, made.json()["learner"]) == (201, "Spring(label_rate=0.5)")
    assert code(one.admin.post("/v1/streams", json={"name": "north"})) == (409, "exists")
    one.admin.post("/v1/streams/north/events", json={"features": {"x": 1.0}, "label": True})
    changed = one.admin.put("/v1/streams/north", json={"learner": "PAA"})
    assert changed.status_code == 200
    assert one.service.streams["north"].wait(60)
    assert one.admin.get("/v1/streams/north/model").json()["learner"] == "PAA(update='pa')"
    assert one.admin.delete("/v1/streams/north").status_code == 204
    assert code(one.admin.get("/v1/streams/north")) == (404, "not_found")
    assert [stream["name"] for stream in one.admin.get("/v1/streams").json()] == ["main"]
    assert code(one.admin.delete("/v1/streams/main")) == (422, "bad_parameter")
    with hw.live.read(database) as reader, reader.database.reading() as connection:
        for table in ("facts", "bodies", "names", "streams", "snapshots"):
            found = connection.exec_driver_sql(f"SELECT DISTINCT stream FROM {table}").scalars()
            assert set(found) <= {1}, table


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "n", "learner": "os:system"}, "there is no 'os:system'"),
        ({"name": "n", "learner": "Spring", "parameters": {"wings": 2}}, "no parameter 'wings'"),
        ({"name": "n", "label_rate": 7}, "label_rate"),
        ({"name": "n", "learner": "OLSF", "label_rate": 0.5}, "does not keep to a rate"),
        ({"name": "n", "keep_events": "soon"}, "span of time"),
        ({"name": "n", "parameters": {"seed": [[1]]}}, "seed"),
    ],
)
def test_a_stream_that_cannot_be_is_refused(one: Running, body: Any, words: str) -> None:
    reply = one.admin.post("/v1/streams", json=body)
    assert code(reply) == (422, "bad_parameter")
    assert words in reply.json()["error"]["message"]
    assert list(one.service.streams) == ["main"]


def test_people_and_tokens_are_administered(one: Running) -> None:
    ada = {"name": "ada", "roles": ["label"], "streams": ["main"]}
    assert one.admin.post("/v1/people", json=ada).status_code == 201
    assert code(one.admin.post("/v1/people", json=ada)) == (409, "exists")
    invitation = one.admin.post("/v1/people/ada/invitation").json()
    assert invitation["path"] == f"/login#{invitation['code']}"
    browser = one.client()
    assert browser.post("/session", json={"code": invitation["code"]}).json()["name"] == "ada"
    more = one.admin.put("/v1/people/ada", json={"roles": ["label", "read"]}).json()
    assert (more["roles"], more["streams"]) == (["label", "read"], None)
    assert browser.get("/v1/streams").status_code == 200
    assert one.admin.delete("/v1/people/ada").status_code == 204
    assert one.admin.get("/v1/people").json() == []
    assert code(browser.get("/v1/streams")) == (401, "no_token")
    made = one.admin.post("/v1/tokens", json={"name": "plc", "roles": ["ingest"]}).json()
    listed = one.admin.get("/v1/tokens").json()
    assert "token" not in listed[1]
    header = {"Authorization": f"Bearer {made['token']}"}
    plc = one.client()
    assert plc.post(EVENTS, json={"features": {"x": 1}}, headers=header).status_code == 200
    assert one.admin.delete(f"/v1/tokens/{made['id']}").status_code == 204
    assert code(plc.post(EVENTS, json={"features": {"x": 1}}, headers=header)) == (401, "bad_token")


def test_an_admin_of_some_streams_is_refused(one: Running) -> None:
    body = {"name": "boss", "roles": ["admin"], "streams": ["main"]}
    assert code(one.admin.post("/v1/tokens", json=body)) == (422, "bad_parameter")


def test_metrics_count_events_and_requests(one: Running) -> None:
    one.admin.post(EVENTS, json=[{"features": {"x": 1.0}}, {"features": {"x": 2.0}}])
    text = one.admin.get("/metrics").text
    assert 'headwater_events_total{stream="main"} 2.0' in text
    assert 'route="/v1/streams/{s}/events",status="200"} 1.0' in text
    assert 'headwater_model_seen{stream="main"} 2.0' in text


def test_ready_says_why_not(one: Running) -> None:
    assert one.client().get("/readyz").json() == {"status": "ready"}
    one.service.is_stopping = True
    assert code(one.client().get("/readyz")) == (503, "unavailable")


def test_quality_comes_with_its_interval(one: Running) -> None:
    for number in range(30):
        event = {"id": number, "features": {"x": float(number % 2)}}
        one.admin.post(EVENTS, json=event)
        label = {"event": number, "label": number % 2 == 0}
        assert one.admin.post("/v1/streams/main/labels", json=label).status_code == 200
    told = one.admin.get("/v1/streams/main/quality").json()
    assert (told["events"], told["labels"]) == (30, 30)
    assert 0 <= told["low"] <= told["error"] <= told["high"] <= 1
    assert one.admin.get("/v1/streams/main/quality?window=day").json()["events"] == 30
    assert code(one.admin.get("/v1/streams/main/quality?window=year")) == (400, "bad_request")
    curve = one.admin.get("/v1/streams/main/quality/curve?points=3").json()
    assert len(curve) == 3


def test_an_allowance_is_set_and_never_exceeded(tmp_path: Path) -> None:
    with running(tmp_path / "plant.db", hw.Spring(label_rate=0.5)) as one:
        path = "/v1/streams/main/budget"
        assert code(one.admin.get(path)) == (404, "not_found")
        assert code(one.admin.put(path, json={"per_day": 5})) == (422, "bad_parameter")
        allowance = {"per_day": 5, "tz": "Europe/Berlin"}
        assert one.admin.put(path, json=allowance).status_code == 204
        # All differ: copies of an open question share its card.
        events = [{"features": {"x": float(n)}} for n in range(400)]
        asked = sum(reply["asked"] for reply in one.admin.post(EVENTS, json=events).json())
        told = one.admin.get(path).json()
        assert told["allowed"] == 5
        assert told["used"] == asked <= 5
        assert told["left"] == 5 - asked
        assert one.admin.put(path, json={}).status_code == 204
        assert code(one.admin.get(path)) == (404, "not_found")
