"""All errors of the package, as a tree.

```text
HeadwaterError
├── ParameterError   a parameter, a combination of them or an algorithm's name is not possible
├── EventError       an event's features, or a batch of events, cannot be read
├── LabelError       a label does not fit the learner
├── AnswerError      an answer does not fit its decision (it was answered before), or is none
├── StepError        learning this event would make a number infinite; nothing was learned
├── BusyError        a signal handler or finalizer used a learner that its thread was using
├── PoisonedError    a fault inside the core left a learner half changed; it is of no use any more
├── OutputError      what a run writes cannot be written; what was written and learned agree
├── EventFileError   a file of events, or a line of it, cannot be read; the events before are done
├── ModelFileError   a saved model is damaged, foreign or from a newer version
├── DatasetError     a data set is not there, cannot be fetched, or is not what it should be
├── ServiceRefusedError  a service refused a request or could not be reached: `code`, `status`
├── ConnectorError       a broker cannot be reached, or has not what a worker needs
└── JournalError     the database of a live stream cannot be used; nothing was taken
    ├── HeldError      another process writes to it
    ├── IdReusedError  an event's id or an answer's key was used before, for something else
    ├── TooOldError    what would have to be replayed is no longer kept
    └── NoSuchError    there is no such stream, event, question or person
```

Every message says where, what was expected and what was found instead. A call that raises an error
has changed nothing, except that the events of a file before the bad line stay learned.
"""


class HeadwaterError(Exception):
    """Base class of all errors that this package raises."""


class ParameterError(HeadwaterError, ValueError):
    """A parameter, a combination of parameters or a name is not possible."""


class EventError(HeadwaterError, ValueError):
    """An event's features, or a batch of events, cannot be read."""


class LabelError(HeadwaterError, ValueError):
    """A label does not fit the learner."""


class AnswerError(HeadwaterError, ValueError):
    """An answer does not fit its decision."""


class StepError(HeadwaterError, ArithmeticError):
    """Learning this event would make a number infinite; nothing was learned."""


class BusyError(HeadwaterError, RuntimeError):
    """A signal handler or a finalizer used a learner that its own thread was using."""


class PoisonedError(HeadwaterError, RuntimeError):
    """A fault inside the core interrupted a learner half-way; it cannot be used any more."""


class OutputError(HeadwaterError, RuntimeError):
    """What a run writes cannot be written; what was written and what was learned agree."""


class EventFileError(HeadwaterError, ValueError):
    """A file of events, or a line of it, cannot be read; the events before it are done."""


class ModelFileError(HeadwaterError, ValueError):
    """A saved model is damaged, foreign or from a newer version."""


class DatasetError(HeadwaterError, ValueError):
    """A data set is not there, cannot be fetched, or is not what it should be."""


class ServiceRefusedError(HeadwaterError, RuntimeError):
    """A service refused a request, or could not be reached (`code` is `unreachable` then)."""

    def __init__(self, message: str, code: str = "internal", status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ConnectorError(HeadwaterError, RuntimeError):
    """A broker cannot be reached, or has not what a worker needs."""


class JournalError(HeadwaterError, RuntimeError):
    """The database of a live stream cannot be used; nothing was taken."""


class HeldError(JournalError):
    """Another process writes to the database."""


class IdReusedError(JournalError):
    """An event's id or an answer's key was used before, for something else."""


class TooOldError(JournalError):
    """What would have to be replayed is no longer kept."""


class NoSuchError(JournalError):
    """There is no such stream, event, question or person."""
