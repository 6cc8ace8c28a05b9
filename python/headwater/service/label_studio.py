"""Label Studio's protocol for models: our predictions on its tasks, learning from its annotations.

Label Studio calls its models at four paths below an address: `predict`, `setup`, `webhook` and
`health`. Each annotation is one event with its label. A changed annotation corrects it; a deleted
one is removed, as if it had never come.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool

from headwater import _core
from headwater.errors import EventError, NoSuchError
from headwater.inputs.columns import Columns
from headwater.learners.base import Learner
from headwater.live import Loop
from headwater.service.endpoint import Call, Operation
from headwater.service.errors import ServiceError
from headwater.types import Label

TEXTS = ("Text", "HyperText", "Header")
"""Tags that show a field as text: its words are features."""
MEDIA = ("Image", "Audio", "AudioPlus", "Video", "TimeSeries", "PDF", "Paragraphs", "Table")
"""Tags that show something that is not in the task: the field is left out."""
CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
LONGEST = 100_000
"""Characters of a labelling interface."""


class Task(msgspec.Struct):
    """A task: its data are the fields of an event."""

    data: dict[str, Any]
    id: int | str | None = None


class TasksToPredict(msgspec.Struct):
    """Tasks, and the labelling interface of their project."""

    tasks: list[Task]
    label_config: str
    project: int | str | None = None


class TaskPrediction(msgspec.Struct):
    """A prediction in Label Studio's form; `score` is the probability, for sorting tasks by it."""

    result: list[dict[str, Any]]
    score: float
    model_version: str


class TaskPredictions(msgspec.Struct):
    """One prediction per task, in order."""

    results: list[TaskPrediction]


class Setup(msgspec.Struct, rename={"label_config": "schema"}):
    """The project that a model is connected to."""

    label_config: str
    project: int | str | None = None


class Version(msgspec.Struct):
    """Which model it is."""

    model_version: str


class Project(msgspec.Struct):
    """The part of a project that is needed."""

    id: int | str
    label_config: str = ""


class Annotation(msgspec.Struct):
    """What somebody said about a task."""

    id: int | str
    result: list[dict[str, Any]] = []
    was_cancelled: bool = False


class Notice(msgspec.Struct):
    """What happened in Label Studio."""

    action: str
    project: Project | None = None
    annotation: Annotation | list[Annotation] | None = None
    annotations: list[Annotation] = []
    task: Task | list[Task] | None = None


class Noted(msgspec.Struct):
    """What became of a notice: how many annotations were learned, corrected or removed."""

    status: str
    learned: int = 0


class Health(msgspec.Struct):
    """That the model is there."""

    status: str
    model_class: str


class Interface(NamedTuple):
    """What a labelling interface asks for: one choice, or one number, about the fields it shows.

    Examples
    --------
    >>> Interface.read('''<View><Text name="t" value="$body"/>
    ...   <Choices name="mood" toName="t"><Choice value="good"/><Choice value="bad"/></Choices>
    ... </View>''')
    Interface(kind='choices', name='mood', about='t', texts=('body',), left_out=())
    """

    kind: str
    name: str
    about: str
    texts: tuple[str, ...]
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, config: str) -> "Interface":
        """Read an interface as XML; a ServiceError if it asks for something else."""
        if len(config) > LONGEST or "<!" in config.replace("<!--", ""):
            raise ServiceError(
                "bad_request",
                f"label_config: expected XML of at most {LONGEST:,} characters without"
                " declarations, got more.",
            )
        try:
            tags = list(ET.fromstring(config).iter())
        except ET.ParseError as error:
            raise ServiceError("bad_request", f"label_config: it is not XML: {error}.") from None
        asked = [one for one in tags if one.tag in ("Choices", "Number") and one.get("name")]
        several = [one for one in asked if one.get("choice", "single").startswith("multiple")]
        if len(asked) != 1 or several:
            raise ServiceError(
                "bad_request",
                "label_config: expected one <Choices> with a single choice, or one <Number>; got"
                f" {len(asked)}{' with multiple choices' if several else ''}.",
            )
        return cls(
            asked[0].tag.lower(),
            asked[0].get("name", ""),
            asked[0].get("toName", ""),
            _fields(tags, TEXTS),
            _fields(tags, MEDIA),
        )

    def event(self, data: Mapping[str, Any]) -> dict[Any, Any]:
        """The features of a task: words of texts, numbers, and short texts as categories."""
        flat = {key: value for key, value in data.items() if not isinstance(value, (dict, list))}
        columns = Columns(
            text=[one for one in self.texts if one in flat],
            ignore=[one for one in self.left_out if one in flat and one not in self.texts],
        )
        try:
            return dict(_core.RoleReader(columns).read(flat)[1])
        except EventError as error:
            raise ServiceError("bad_event", str(error)) from None

    def result(self, label: Label) -> list[dict[str, Any]]:
        """A label as an annotation has it."""
        value = {self.kind: [str(label)] if self.kind == "choices" else label}
        form = {"from_name": self.name, "to_name": self.about, "type": self.kind}
        return [{**form, "value": value}]

    def label(self, annotation: Annotation, learner: Learner) -> Label | None:
        """What an annotation says; None if it says nothing."""
        if annotation.was_cancelled:
            return None
        for one in annotation.result:
            value = one.get("value")
            if one.get("from_name") != self.name or not isinstance(value, dict):
                continue
            said = value.get(self.kind)
            if isinstance(said, list) and len(said) == 1 and isinstance(said[0], str):
                return _known(said[0], learner)
            if isinstance(said, (int, float)) and not isinstance(said, bool):
                return said
        return None


def _fields(tags: list[ET.Element], names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of a task that tags of these names show."""
    values = [one.get("value", "") for one in tags if one.tag in names]
    return tuple(dict.fromkeys(one[1:] for one in values if one.startswith("$") and one[1:]))


def _known(choice: str, learner: Learner) -> Label:
    """The class of a choice; classes that are numbers or bools are written as texts there."""
    labels: list[Label] = list(learner.labels or ())
    return next((one for one in labels if str(one) == choice), choice)


def _version(call: Call) -> str:
    """A model is another one when it has learned."""
    return f"{call.stream}-{call.loop.learner.learned}"


async def predict(call: Call) -> TaskPredictions:
    """Predict tasks; they do not enter the stream."""
    body: TasksToPredict = call.body
    interface = Interface.read(body.label_config)
    version = _version(call)

    def each() -> list[TaskPrediction]:
        learner = call.loop.learner
        return [_predicted(learner, interface, one.data, version) for one in body.tasks]

    return TaskPredictions(await run_in_threadpool(each))


def _predicted(
    learner: Learner, interface: Interface, data: dict[str, Any], version: str
) -> TaskPrediction:
    x = interface.event(data)
    label = learner.predict_one(x) if learner.learned else None
    if label is None:
        return TaskPrediction([], 0.0, version)
    score = 0.0
    if learner.task != "regression":
        score = max(learner.predict_proba_one(x).values())
    return TaskPrediction(interface.result(label), score, version)


async def set_up(call: Call) -> Version:
    """A project is connected: refuse an interface that is not for this model."""
    body: Setup = call.body
    interface = Interface.read(body.label_config)
    wants_number = call.loop.learner.task == "regression"
    if wants_number != (interface.kind == "number"):
        raise ServiceError(
            "bad_request",
            f"schema: the stream {call.stream!r} learns"
            f" {'numbers: it needs <Number>' if wants_number else 'classes: it needs <Choices>'},"
            f" got <{interface.kind.title()}>.",
        )
    return Version(_version(call))


async def take_notice(call: Call) -> Noted:
    """Learn, correct or remove annotations; other notices are ignored."""
    notice: Notice = call.body
    if notice.action not in CREATED + DELETED:
        return Noted("ignored")
    if notice.project is None:
        raise ServiceError("bad_request", f"project: {notice.action} must name its project.")
    if notice.action in DELETED:
        done = await run_in_threadpool(_remove, call.loop, notice.project, _annotations(notice))
    else:
        done = await run_in_threadpool(_learn, call.loop, notice.project, notice)
    return Noted("ok", done)


def _annotations(notice: Notice) -> list[Annotation]:
    one = notice.annotation
    return notice.annotations + (one if isinstance(one, list) else [] if one is None else [one])


def _event_id(project: Project, annotation: Annotation) -> str:
    return f"label-studio/{project.id}/{annotation.id}"


def _learn(loop: Loop, project: Project, notice: Notice) -> int:
    interface = Interface.read(project.label_config)
    found = _annotations(notice)
    tasks = notice.task if isinstance(notice.task, list) else [notice.task] * len(found)
    if len(tasks) != len(found):
        raise ServiceError(
            "bad_request", f"task: expected {len(found)} tasks, one per annotation, got another."
        )
    done = 0
    for annotation, task in zip(found, tasks, strict=True):
        id, label = _event_id(project, annotation), interface.label(annotation, loop.learner)
        if label is None:
            continue
        try:
            loop.label(id, label)
        except NoSuchError:
            if task is None:
                raise ServiceError("bad_request", "task: the notice has none.") from None
            loop.receive(interface.event(task.data), id=id, label=label)
        done += 1
    return done


def _remove(loop: Loop, project: Project, annotations: list[Annotation]) -> int:
    done = 0
    for one in annotations:
        try:
            loop.remove(_event_id(project, one))
        except NoSuchError:  # a skipped task, or one from before the model was connected
            continue
        done += 1
    return done


async def health(call: Call) -> Health:
    """Say that the model is there."""
    return Health("UP", type(call.loop.learner).__name__)


PATH = "/label-studio/{s}"

OPERATIONS = (
    Operation(
        "POST",
        f"{PATH}/predict",
        predict,
        "Label Studio: predict tasks",
        role="ingest",
        body=TasksToPredict,
        reply=TaskPredictions,
        codes=("bad_event",),
    ),
    Operation(
        "POST",
        f"{PATH}/setup",
        set_up,
        "Label Studio: a project is connected",
        role="ingest",
        body=Setup,
        reply=Version,
    ),
    Operation(
        "POST",
        f"{PATH}/webhook",
        take_notice,
        "Label Studio: annotations were made, changed or deleted",
        role="ingest",
        body=Notice,
        reply=Noted,
        status=201,
        codes=("bad_event", "bad_label", "too_old", "id_reused", "unavailable"),
    ),
    Operation(
        "GET",
        f"{PATH}/health",
        health,
        "Label Studio: the model is there",
        role="ingest",
        reply=Health,
    ),
)
