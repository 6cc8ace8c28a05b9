"""Label Studio's calls, as its documentation describes them, by a stub of Label Studio."""

import base64
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import headwater as hw
from service.running import Running, code, running

CONFIG = """<View>
  <Text name="review" value="$text"/>
  <Image name="photo" value="$photo"/>
  <Choices name="mood" toName="review" choice="single">
    <Choice value="good"/><Choice value="bad"/>
  </Choices>
</View>"""
NUMBER = '<View><Text name="t" value="$text"/><Number name="price" toName="t"/></View>'
TEXTS = {"good": "A warm and quiet place", "bad": "A cold and noisy room"}
PROJECT = {"id": 7, "label_config": CONFIG, "title": "Reviews"}


class LabelStudio:
    """What Label Studio sends to a model at this address, with the headers it is given."""

    def __init__(self, http: TestClient, project: dict[str, Any] = PROJECT) -> None:
        self.http = http
        self.project = project

    def setup(self) -> Any:
        sent = {
            "project": f"{self.project['id']}.1763400000",
            "schema": self.project["label_config"],
            "hostname": "http://localhost:8080",
            "access_token": "secret",
            "extra_params": None,
        }
        return self.http.post("/label-studio/main/setup", json=sent)

    def predict(self, *texts: Any) -> Any:
        tasks = [self.task(n, text) for n, text in enumerate(texts)]
        sent = {
            "tasks": tasks,
            "project": f"{self.project['id']}.1763400000",
            "label_config": self.project["label_config"],
            "params": {"login": None, "password": None, "context": None},
        }
        return self.http.post("/label-studio/main/predict", json=sent)

    def notice(self, action: str, annotation: int, text: str, choice: Any, **more: Any) -> Any:
        said = {"choices": [choice]} if isinstance(choice, str) else {"number": choice}
        kind = next(iter(said))
        name = "mood" if kind == "choices" else "price"
        result = [{"from_name": name, "to_name": "review", "type": kind, "value": said}]
        sent = {
            "action": action,
            "annotation": {"id": annotation, "result": result, "completed_by": 1, **more},
            "task": self.task(annotation, text),
            "project": self.project,
        }
        return self.http.post("/label-studio/main/webhook", json=sent)

    def delete(self, annotation: int) -> Any:
        sent = {
            "action": "ANNOTATIONS_DELETED",
            "annotations": [{"id": annotation}],
            "project": self.project,
        }
        return self.http.post("/label-studio/main/webhook", json=sent)

    @staticmethod
    def task(id: int, text: Any) -> dict[str, Any]:
        data = {"text": text, "photo": f"http://example.org/{id}.png", "rooms": 2, "tags": ["a"]}
        return {"id": id, "data": data, "project": 7, "is_labeled": False}


@pytest.fixture
def moods(tmp_path: Path) -> Any:
    """A service whose stream learns the classes as it meets them."""
    with running(tmp_path / "reviews.db", hw.Spring(multiclass=True)) as service:
        yield service


def learned(service: Running) -> int:
    return int(service.service.streams["main"].learner.learned)


def teach(studio: LabelStudio, rounds: int = 3) -> None:
    for n in range(rounds):
        for place, (choice, text) in enumerate(TEXTS.items()):
            number = 2 * n + place
            assert studio.notice("ANNOTATION_CREATED", number, text, choice).status_code == 201


def test_label_studio_connects_predicts_and_teaches(moods: Running) -> None:
    studio = LabelStudio(moods.client("ingest"))
    assert studio.http.get("/label-studio/main/health").json() == {
        "status": "UP",
        "model_class": "Spring",
    }
    assert studio.setup().json() == {"model_version": "main-0"}
    (before,) = studio.predict(TEXTS["good"]).json()["results"]
    assert before == {"result": [], "score": 0.0, "model_version": "main-0"}
    teach(studio)
    good, bad = studio.predict(*TEXTS.values()).json()["results"]
    assert good["result"] == [
        {
            "from_name": "mood",
            "to_name": "review",
            "type": "choices",
            "value": {"choices": ["good"]},
        }
    ]
    assert bad["result"][0]["value"] == {"choices": ["bad"]}
    assert 0.5 < good["score"] <= 1
    assert good["model_version"] == "main-6"


def test_words_of_texts_numbers_and_nothing_of_media_become_features(moods: Running) -> None:
    studio = LabelStudio(moods.client("ingest"))
    studio.notice("ANNOTATION_CREATED", 1, "Warm, warm place", "good")
    known = moods.service.streams["main"].learner.features()
    names = [str(one.name) for one in known]
    assert {"text:warm", "text:place", "rooms"} <= set(names)
    assert not any("photo" in name or "tags" in name for name in names)


def test_a_notice_that_is_sent_again_is_learned_once(moods: Running) -> None:
    studio = LabelStudio(moods.client("ingest"))
    for _ in range(2):
        assert studio.notice("ANNOTATION_CREATED", 1, TEXTS["good"], "good").json() == {
            "status": "ok",
            "learned": 1,
        }
    assert learned(moods) == 1


def test_a_changed_annotation_is_as_if_it_had_been_right_from_the_start(
    moods: Running, tmp_path: Path
) -> None:
    studio = LabelStudio(moods.client("ingest"))
    teach(studio)
    studio.notice("ANNOTATION_CREATED", 9, TEXTS["good"], "bad")
    studio.notice("ANNOTATION_UPDATED", 9, TEXTS["good"], "good")
    loop = moods.service.streams["main"]
    loop.wait()
    with running(tmp_path / "other.db", hw.Spring(multiclass=True)) as other:
        right = LabelStudio(other.client("ingest"))
        teach(right)
        right.notice("ANNOTATION_CREATED", 9, TEXTS["good"], "good")
        assert loop.learner.to_bytes() == other.service.streams["main"].learner.to_bytes()


def test_a_deleted_annotation_is_as_if_it_had_never_come(moods: Running, tmp_path: Path) -> None:
    studio = LabelStudio(moods.client("ingest"))
    teach(studio)
    studio.notice("ANNOTATION_CREATED", 9, TEXTS["good"], "bad")
    assert studio.delete(9).json() == {"status": "ok", "learned": 1}
    assert studio.delete(1234).json() == {"status": "ok", "learned": 0}
    loop = moods.service.streams["main"]
    loop.wait()
    with running(tmp_path / "other.db", hw.Spring(multiclass=True)) as other:
        teach(LabelStudio(other.client("ingest")))
        assert loop.learner.to_bytes() == other.service.streams["main"].learner.to_bytes()


def test_skipped_tasks_and_other_notices_teach_nothing(moods: Running) -> None:
    studio = LabelStudio(moods.client("ingest"))
    skipped = studio.notice("ANNOTATION_CREATED", 1, "x", "good", was_cancelled=True)
    assert skipped.json() == {"status": "ok", "learned": 0}
    other = studio.http.post("/label-studio/main/webhook", json={"action": "TASKS_CREATED"})
    assert other.json() == {"status": "ignored", "learned": 0}
    assert learned(moods) == 0


def test_classes_that_are_numbers_are_written_as_texts_there(tmp_path: Path) -> None:
    with running(tmp_path / "reviews.db", hw.Spring()) as service:
        config = CONFIG.replace('"good"', '"1"').replace('"bad"', '"0"')
        studio = LabelStudio(service.client("ingest"), {"id": 7, "label_config": config})
        service.service.streams["main"].receive({"text:warm": 1.0}, label=1)
        service.service.streams["main"].receive({"text:cold": 1.0}, label=0)
        assert studio.notice("ANNOTATION_CREATED", 1, "warm", "1").status_code == 201
        assert learned(service) == 3
        (warm,) = studio.predict("warm").json()["results"]
        assert warm["result"][0]["value"] == {"choices": ["1"]}


def test_a_number_is_predicted_and_learned(tmp_path: Path) -> None:
    with running(tmp_path / "prices.db", hw.PARegressor()) as service:
        project = {"id": 7, "label_config": NUMBER}
        studio = LabelStudio(service.client("ingest"), project)
        assert studio.setup().status_code == 200
        assert studio.notice("ANNOTATION_CREATED", 1, "warm", 80).json()["learned"] == 1
        (warm,) = studio.predict("warm").json()["results"]
        assert warm["result"][0]["type"] == "number"
        assert isinstance(warm["result"][0]["value"]["number"], float)
        refused = LabelStudio(service.client("ingest")).setup()
        assert code(refused) == (400, "bad_request")
        assert "needs <Number>" in refused.json()["error"]["message"]


def test_the_password_of_basic_authentication_is_a_token(moods: Running) -> None:
    token = moods.service.access.add_token("studio", ["ingest"])[1]
    client = moods.client()
    for password, status in ((token, 200), ("wrong", 401), (token + "\xe4", 401)):
        pair = base64.b64encode(f"anybody:{password}".encode()).decode()
        reply = client.get("/label-studio/main/health", headers={"Authorization": f"Basic {pair}"})
        assert reply.status_code == status
    for bad in ("Basic ???", "Basic", "Digest x"):
        reply = client.get("/label-studio/main/health", headers={"Authorization": bad})
        assert reply.status_code == 401


@pytest.mark.parametrize("path", ["predict", "setup", "webhook"])
def test_nobody_without_the_role_gets_in(moods: Running, path: str) -> None:
    address = f"/label-studio/main/{path}"
    assert code(moods.client().post(address, json={})) == (401, "no_token")
    assert code(moods.client("read").post(address, json={})) == (403, "wrong_role")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("no xml", "it is not XML"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><View>&b;</View>", "without declarations"),
        ("<View/>", "expected one <Choices>"),
        ("<View><Choices name='a' toName='b' choice='multiple'/></View>", "multiple choices"),
        ("<View>" + "<Text/>" * 20_000 + "</View>", "at most 100,000 characters"),
    ],
)
def test_an_interface_that_does_not_fit_is_refused_by_a_sentence(
    moods: Running, config: str, sentence: str
) -> None:
    studio = LabelStudio(moods.client("ingest"), {"id": 7, "label_config": config})
    for reply in (studio.setup(), studio.predict("x")):
        assert code(reply) == (400, "bad_request")
        assert sentence in reply.json()["error"]["message"]


def test_a_choice_that_the_learner_does_not_know_is_refused_and_nothing_changes(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "reviews.db", hw.Spring(classes=("good", "bad"))) as service:
        studio = LabelStudio(service.client("ingest"))
        before = service.service.streams["main"].learner.to_bytes()
        refused = studio.notice("ANNOTATION_CREATED", 1, "x", "fair")
        assert code(refused) == (422, "bad_label")
        assert service.service.streams["main"].learner.to_bytes() == before
