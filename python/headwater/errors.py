"""What can go wrong, as a tree.

```text
HeadwaterError
├── ParameterError   a parameter, a combination of them or an algorithm's name is not possible
├── EventError       an event's features, or a batch of events, cannot be read
├── LabelError       a label does not fit the learner
├── AnswerError      an answer does not fit its decision (it was answered before), or is none
├── StepError        learning this event would make a number infinite; nothing was learned
├── BusyError        a signal handler or finalizer used a learner that its thread was using
├── EventFileError   a file of events, or a line of it, cannot be read; the events before are done
├── ModelFileError   a saved model is damaged, foreign or from a newer version
└── DatasetError     a data set is not there, cannot be fetched, or is not what it should be
```

Every message says where, what was expected and what came; what raised it has changed nothing,
except that the events of a file before the one that cannot be used stay learned.
"""


class HeadwaterError(Exception):
    """Root of everything this package raises on purpose."""


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


class EventFileError(HeadwaterError, ValueError):
    """A file of events, or a line of it, cannot be read; the events before it are done."""


class ModelFileError(HeadwaterError, ValueError):
    """A saved model is damaged, foreign or from a newer version."""


class DatasetError(HeadwaterError, ValueError):
    """A data set is not there, cannot be fetched, or is not what it should be."""
