"""What changes a learner, and what its state survives."""

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwater.errors import ModelFileError
from headwater.learners.base import from_bytes, load
from headwater.testing.expect import refused, same, true
from headwater.testing.small_stream import (
    Event,
    Make,
    SmallStream,
    csr,
    follow,
    halfway,
    knowledge,
    known_names,
)


def check_a_saved_learner_goes_on_bit_for_bit(make: Make, stream: SmallStream) -> None:
    """A learner that was saved and loaded, pickled or copied goes on as the original does."""
    events, labels = stream.rest()
    model = halfway(make, stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.hw")
        model.save(path)
        copies = [load(path), load(str(path))]
    copies += [from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))]
    copies += [copy.copy(model), copy.deepcopy(model)]
    same([type(other) for other in copies], [type(model)] * len(copies), "the class of a copy")
    steps = follow(model, events, labels)
    for other in copies:
        same(follow(other, events, labels), steps, "the decisions of a copy")
        same(other.to_bytes(), model.to_bytes(), "the state of a copy")


def check_a_copy_shares_nothing(make: Make, stream: SmallStream) -> None:
    """What a copy learns does not change the original."""
    model = halfway(make, stream)
    before = model.to_bytes()
    for other in (copy.copy(model), copy.deepcopy(model)):
        follow(other, *stream.rest())
        true(other.to_bytes() != before, "the state of a copy that learned: expected a new one")
    same(model.to_bytes(), before, "the state of the original")


def check_saving_twice_gives_equal_bytes(make: Make, stream: SmallStream) -> None:
    """Saving changes nothing, and the file holds what `to_bytes` returns."""
    model = halfway(make, stream)
    same(model.to_bytes(), model.to_bytes(), "to_bytes, called twice")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.hw")
        for _ in range(2):
            model.save(path)
            same(path.read_bytes(), model.to_bytes(), "the saved file")


def check_an_altered_file_is_refused(make: Make, stream: SmallStream) -> None:
    """A model file with a changed byte, or cut off, is refused."""
    data = halfway(make, stream).to_bytes()
    altered = bytearray(data)
    altered[len(data) // 2] ^= 1
    for wrong in (bytes(altered), data[:-1], data + b"\0", b""):
        with refused(ModelFileError, "a model file that was altered"):
            from_bytes(wrong)


def check_equal_seeds_and_events_give_equal_bytes(make: Make, stream: SmallStream) -> None:
    """The same seed and events give the same decisions and bytes, another seed other bytes."""
    runs = []
    for _ in range(2):
        model = make(seed=7)
        runs.append((follow(model, stream.events, stream.labels), model.to_bytes()))
    same(runs[0], runs[1], "two runs with one seed")
    true(make(seed=8).to_bytes() != make(seed=7).to_bytes(), "another seed: expected other bytes")


def check_predicting_changes_nothing(make: Make, stream: SmallStream) -> None:
    """Predictions, margins, probabilities and explanations change nothing and learn no names."""
    one: list[str] = ["predict_one", "margin_one", "explain_one"]
    many: list[str] = ["predict_many", "margin_many"]
    if stream.task != "regression":
        one.append("predict_proba_one")
        many.append("predict_proba_many")
    strange: list[Event] = [{"never seen": 1.0, "site": "roof"}, {}]
    for model in (make(), halfway(make, stream)):
        before, names = model.to_bytes(), known_names(model)
        verbs: list[Callable[..., Any]] = [getattr(model, name) for name in one]
        for event in stream.events + strange:
            for verb in verbs:
                verb(event)
        model.weights()
        for name in many:
            batch = csr(stream.events, [f"new {column}" for column in range(stream.columns)])
            getattr(model, name)(batch)
        same(model.to_bytes(), before, "the state after predicting")
        same(known_names(model), names, "the names after predicting")


def check_querying_moves_only_the_query_state(make: Make, stream: SmallStream) -> None:
    """`query_one` says what `decide_one` would, counts, and changes nothing that was learned."""
    asking, deciding = halfway(make, stream), halfway(make, stream)
    before, seen, asked = knowledge(asking, stream), asking.seen, asking.asked
    strange: list[Event] = [{"never seen": 1.0}]
    events = stream.events + strange
    answers = [asking.query_one(event) for event in events]
    same(answers, [deciding.decide_one(event).asked for event in events], "query_one")
    same(knowledge(asking, stream), before, "what is known after query_one")
    same((asking.seen, asking.asked), (seen + len(events), asked + sum(answers)), "the counters")


def check_a_decision_is_prediction_and_query_in_one(make: Make, stream: SmallStream) -> None:
    """A decision holds the prediction, the margin, the probability of asking and the features."""
    model = halfway(make, stream)
    for event in stream.rest()[0]:
        explained = model.explain_one(event)
        expected = (model.predict_one(event), model.margin_one(event))
        decision = model.decide_one(event)
        same((decision.prediction, decision.margin), expected, "prediction and margin")
        same(explained[:2], expected, "prediction and margin of explain_one")
        chance = decision.query_probability
        same(explained.query_probability, chance, "query_probability of explain_one")
        true(0 <= chance <= 1, f"query_probability: expected a number from 0 to 1, got {chance}")
        same(decision.features, event, "the features of a decision")


def check_counters_add_up(make: Make, stream: SmallStream) -> None:
    """`seen`, `asked` and `learned` count decisions, questions and labels learned."""
    model = make()
    same((model.seen, model.asked, model.learned), (0, 0, 0), "the counters of a new learner")
    steps = follow(model, stream.events, stream.labels)
    asked = sum(step[-1] for step in steps)
    true(asked > 0, f"questions among {len(steps)} events: expected some, got none")
    same((model.seen, model.asked, model.learned), (len(steps), asked, asked), "the counters")
    model.learn_one(stream.events[0], stream.labels[0])
    same((model.seen, model.asked, model.learned), (len(steps), asked, asked + 1), "the counters")
    asked += model.query_one(stream.events[0])
    model.predict_one(stream.events[0])
    same((model.seen, model.asked), (len(steps) + 1, asked), "the counters")
