"""Logging in and out with a browser: the routes at `/session`."""

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from headwater.service.access import Caller, Role
from headwater.service.endpoint import Call, Operation
from headwater.service.errors import ServiceError


class LogIn(msgspec.Struct, forbid_unknown_fields=True):
    """The code of an invitation, or a token."""

    code: str | None = None
    token: str | None = None


class Who(msgspec.Struct):
    """Who is logged in; `csrf` is to be sent as X-CSRF-Token with everything that changes."""

    name: str
    roles: tuple[Role, ...]
    streams: tuple[str, ...] | None
    csrf: str


async def log_in(call: Call) -> Response:
    body: LogIn = call.body
    if (body.code is None) == (body.token is None):
        raise ServiceError("bad_parameter", "A login needs either code or token.")
    access = call.service.access
    caller = await run_in_threadpool(access.log_in, code=body.code, token=body.token)
    assert caller.cookie is not None
    response = Response(msgspec.json.encode(_who(call, caller)), media_type="application/json")
    access.set_cookie(response, Request(call.connection.scope), caller.cookie)
    return response


async def who(call: Call) -> Who:
    caller = call.service.access.require(call.connection, None)
    return _who(call, caller)


async def log_out(call: Call) -> Response:
    access = call.service.access
    caller = access.require(call.connection, None)
    if caller.cookie is None:
        raise ServiceError("bad_parameter", "There is no session to end; revoke a token instead.")
    await run_in_threadpool(access.log_out, caller.cookie)
    response = Response(status_code=204)
    response.delete_cookie(access.cookie_name)
    return response


def _who(call: Call, caller: Caller) -> Who:
    grant = caller.grant
    csrf = "" if caller.cookie is None else call.service.access.csrf_of(caller.cookie)
    return Who(grant.name, grant.roles, grant.streams, csrf)


OPERATIONS = (
    Operation(
        "POST",
        "/session",
        log_in,
        "Log in with a browser: exchange an invitation's code or a token for a cookie",
        body=LogIn,
        reply=Who,
        codes=("bad_token", "bad_parameter"),
    ),
    Operation("GET", "/session", who, "Who is logged in", reply=Who, codes=("no_token",)),
    Operation(
        "DELETE", "/session", log_out, "Log out", codes=("no_token", "bad_csrf", "bad_parameter")
    ),
)
