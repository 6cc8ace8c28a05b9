"""Every error that the service answers with: one table of codes, one shape.

{"error": {"code": "id_reused", "message": "event: the id 'e1' was used before, ..."}}
"""

from typing import Any, NamedTuple

from headwater.errors import (
    AnswerError,
    EventError,
    HeadwaterError,
    HeldError,
    IdReusedError,
    JournalError,
    LabelError,
    NoSuchError,
    ParameterError,
    StepError,
    TooOldError,
)


class Code(NamedTuple):
    """A code: its status, and when it is sent."""

    status: int
    when: str


CODES: dict[str, Code] = {
    "bad_json": Code(400, "the body is not JSON, or not UTF-8"),
    "bad_request": Code(400, "a field is missing, unknown or of another type"),
    "duplicate_key": Code(400, "an object of the body has a key twice"),
    "no_token": Code(401, "the route needs a token or a session, and there is none"),
    "bad_token": Code(401, "the token, the session or the invitation is unknown, used or expired"),
    "wrong_role": Code(403, "the token or person has another role, or other streams"),
    "wrong_origin": Code(403, "a page of another site sent it"),
    "bad_csrf": Code(403, "a session sent it without its X-CSRF-Token"),
    "no_route": Code(404, "there is nothing at this path"),
    "not_found": Code(404, "there is no such stream, event, question, answer, person or token"),
    "wrong_method": Code(405, "the path does not take this method"),
    "too_slow": Code(408, "the body did not arrive in time"),
    "exists": Code(409, "there is one of this name already"),
    "id_reused": Code(409, "an event's id or an answer's key was used before, for something else"),
    "not_open": Code(409, "the question cannot take this answer as it is now"),
    "too_old": Code(409, "what would have to be replayed is no longer kept"),
    "too_large": Code(413, "the body or a batch is larger than the service takes"),
    "not_json": Code(415, "the body's content type is not application/json"),
    "wrong_host": Code(421, "the service is not known by the name in the Host header"),
    "bad_event": Code(422, "the event's features cannot be read"),
    "bad_label": Code(422, "the label does not fit the learner"),
    "bad_parameter": Code(422, "a value is not possible"),
    "too_many_requests": Code(429, "more requests than the service takes from one sender"),
    "internal": Code(500, "a fault of the service, which its log describes"),
    "unavailable": Code(503, "the database cannot be used now; nothing was taken"),
}
"""Every code, in the order of its status."""

OF_ERRORS: dict[type[Exception], str] = {
    IdReusedError: "id_reused",
    TooOldError: "too_old",
    NoSuchError: "not_found",
    HeldError: "unavailable",
    JournalError: "unavailable",
    EventError: "bad_event",
    StepError: "bad_event",
    LabelError: "bad_label",
    AnswerError: "not_open",
    ParameterError: "bad_parameter",
}
"""The code of an error of the package; the nearest class counts."""


class ServiceError(Exception):
    """An answer that is an error: a code of the table, and a sentence."""

    def __init__(self, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = CODES[code].status
        self.headers = headers or {}

    def plain(self) -> dict[str, Any]:
        """As it is sent."""
        return {"error": {"code": self.code, "message": str(self)}}


def explained(error: Exception) -> ServiceError:
    """What is said about an error; a fault of ours is not described to strangers."""
    if isinstance(error, ServiceError):
        return error
    for kind in type(error).__mro__:
        if kind in OF_ERRORS:
            return ServiceError(OF_ERRORS[kind], str(error))
    if isinstance(error, HeadwaterError):
        return ServiceError("bad_parameter", str(error))
    return ServiceError("internal", "The service has a fault; its log says more.")


def codes_table() -> str:
    """The table of codes, as its documentation page has it."""
    rows = [f"| `{name}` | {code.status} | {code.when} |" for name, code in CODES.items()]
    return "\n".join(["| code | status | when |", "| --- | --- | --- |", *rows])
