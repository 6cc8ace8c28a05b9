"""One stream of a database, as the writer keeps it: its journal, its past, its snapshots."""

from collections.abc import Callable

from sqlalchemy import Connection

from headwater.live.clerk import Clerk
from headwater.live.journal import Journal
from headwater.live.past import Past
from headwater.live.results import Answered
from headwater.live.settings import Settings
from headwater.live.snapshot_maker import SnapshotMaker
from headwater.live.writer import Call, Job, Writer
from headwater.register import FeatureFinding
from headwater.types import Label


class LiveStream:
    """Journal, changes of the past and snapshots of one stream; all but `submit` for the writer."""

    def __init__(self, writer: Writer, stream: int, name: str, settings: Settings) -> None:
        self.writer = writer
        self.name = name

        def carry_out(call: Call) -> object:
            return writer.carry_out(Job(self, call))

        self.journal = Journal(writer.database, stream, name, settings)
        self.maker = SnapshotMaker(self.journal, carry_out)
        self.past = Past(self.journal, self.maker, carry_out)
        self.clerk = Clerk(self.journal, self.past)
        self._listeners: list[Callable[[FeatureFinding], object]] = []
        self._told = 0  # the number of the last finding that they were told

    def recover(self) -> None:
        """Make the learner anew from what is on disk."""
        with self.writer.database.reading() as connection:
            replayer = self.journal.recover(connection)
            self.past.recovered(connection, replayer)
            self.maker.recovered(connection)

    def begin(self, connection: Connection, jobs: list[Job]) -> None:
        self.journal.begin(connection, [key for job in jobs for key in job.keys])

    def flush(self, connection: Connection) -> None:
        self.journal.flush(connection)

    def committed(self) -> None:
        self.past.committed()
        self.maker.committed()
        if self._listeners:
            for finding in self.journal.learner.findings(since=self._told):
                self._told = finding.number
                for call in self._listeners:
                    call(finding)

    def listen(self, call: Callable[[FeatureFinding], object], told: int) -> None:
        """Tell a function every finding after number `told`."""
        self._told = max(self._told, told)
        self._listeners.append(call)

    def due(self) -> list[Job]:
        """Answers whose time has come, and what a recovery left to be written."""
        calls = self.past.due() + self.journal.due() + self.clerk.due()
        return [Job(self, call) for call in calls]

    def answer(
        self, connection: Connection, target: int, label: Label, by: str | None, key: str
    ) -> Answered:
        """An answer; to a question that has another one, a correction."""
        if self.journal.settings.desk.overlap > 1 and by is not None:
            return self.clerk.answer(connection, target, label, by, key)
        answered = self.journal.answer(connection, target, label, by, key)
        return answered or self.past.correct(connection, target, label, by, key)

    def label(self, connection: Connection, target: int, label: Label) -> Answered:
        """A label that came later; of an event that has another one, a correction."""
        answered = self.journal.label(connection, target, label)
        return answered or self.past.correct(connection, target, label, None, "")

    def upgrade(self, connection: Connection) -> None:
        """Note that the arithmetic is another one, and make a snapshot."""
        self.journal.upgrade(connection)
        self.maker.make_now(connection)
