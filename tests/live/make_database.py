"""Writes a database of the newest version, for tests/live/databases: run it once per version.

`python tests/live/make_database.py tests/live/databases/0004`
"""

import json
import sys
from pathlib import Path
from typing import Any

import headwater as hw

EVENTS = 40


def main(folder: Path) -> None:
    """A stream with answers, skips, a dispute, an undo, a bad event and an open question."""
    folder.mkdir(parents=True)
    url = str(folder / "plant.db")
    options: dict[str, Any] = {"apply_after": 0, "desk": hw.live.DeskSettings(overlap=2)}
    with hw.live.open(url, learner=hw.OLSF(), **options) as plant:
        for number in range(EVENTS):
            event = {f"s{number % 4}": float(number % 7 - 3), "level": number / 10}
            plant.receive(event, id=f"e{number}", group=f"line-{number % 2}")
        for by, wrong in (("ada", 5), ("bob", 7)):
            for card in plant.desk.lease(by, 30):
                plant.desk.answer(
                    card, (card.question % wrong == 0) ^ (card.question % 2 == 0), by=by
                )
        plant.desk.skip(plant.desk.lease("ada")[0], by="ada")
        plant.desk.unsure(plant.desk.lease("ada")[0], by="ada")
        plant.desk.bad(plant.desk.lease("ada")[0], by="ada")
        plant.wait()
        dispute = plant.desk.disputes()[0]
        plant.desk.settle(dispute.question, True, by="chief")
        plant.desk.undo(by="bob")
        plant.wait()
        status = plant.status()
        known = {
            "counts": [status.events, status.asked, status.labels],
            "seen": plant.learner.seen,
            "prediction": plant.learner.predict_one({"s1": 3.0}),
            "questions": status.questions,
        }
    (folder / "known.json").write_text(json.dumps(known))
    for name in ("plant.db.lock", "plant.db-wal", "plant.db-shm"):
        (folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
