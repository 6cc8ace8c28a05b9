"""People and tokens: who may do what, for an admin."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool

from headwater.service.access import Grant, Role
from headwater.service.endpoint import Call, Operation

Roles = Annotated[list[Role], Meta(min_length=1)]
NameText = Annotated[str, Meta(min_length=1, max_length=200)]


class NewGrant(msgspec.Struct, forbid_unknown_fields=True):
    """A person or a token to be made; without `streams`, for every stream."""

    name: NameText
    roles: Roles
    streams: list[str] | None = None


class GrantChange(msgspec.Struct, forbid_unknown_fields=True):
    """Other roles and streams."""

    roles: Roles
    streams: list[str] | None = None


class GrantInfo(msgspec.Struct):
    """A person or a token, without secrets."""

    id: str
    name: str
    roles: tuple[Role, ...]
    streams: tuple[str, ...] | None
    created: float

    @classmethod
    def of(cls, grant: Grant) -> "GrantInfo":
        return cls(grant.id, grant.name, grant.roles, grant.streams, grant.created)


class NewToken(GrantInfo):
    """A token with its secret, which is shown this once."""

    token: str


class InvitationInfo(msgspec.Struct):
    """A code for one login; `path` is where a browser goes, with the code behind the #."""

    code: str
    path: str
    expires: float


async def list_people(call: Call) -> list[GrantInfo]:
    return [GrantInfo.of(one) for one in call.service.access.grants("person")]


async def add_person(call: Call) -> GrantInfo:
    body: NewGrant = call.body
    access = call.service.access
    return GrantInfo.of(
        await run_in_threadpool(access.add_person, body.name, body.roles, body.streams)
    )


async def change_person(call: Call) -> GrantInfo:
    body: GrantChange = call.body
    access = call.service.access
    person = access.person(call.parameter("name"))
    return GrantInfo.of(await run_in_threadpool(access.change, person, body.roles, body.streams))


async def remove_person(call: Call) -> None:
    access = call.service.access
    person = access.person(call.parameter("name"))
    await run_in_threadpool(access.remove, person.id, "person")


async def invite(call: Call) -> InvitationInfo:
    access = call.service.access
    person = access.person(call.parameter("name"))
    code, expires = await run_in_threadpool(access.invite, person)
    return InvitationInfo(code, f"/login#{code}", expires)


async def list_tokens(call: Call) -> list[GrantInfo]:
    return [GrantInfo.of(one) for one in call.service.access.grants("token")]


async def add_token(call: Call) -> NewToken:
    body: NewGrant = call.body
    access = call.service.access
    grant, secret = await run_in_threadpool(access.add_token, body.name, body.roles, body.streams)
    told: dict[str, Any] = msgspec.structs.asdict(GrantInfo.of(grant))
    return NewToken(**told, token=secret)


async def revoke_token(call: Call) -> None:
    await run_in_threadpool(call.service.access.remove, call.parameter("id"), "token")


OPERATIONS = (
    Operation(
        "GET",
        "/v1/people",
        list_people,
        "Everybody who can log in",
        role="admin",
        reply=list[GrantInfo],
    ),
    Operation(
        "POST",
        "/v1/people",
        add_person,
        "Add a person",
        role="admin",
        body=NewGrant,
        reply=GrantInfo,
        status=201,
        codes=("exists", "bad_parameter"),
    ),
    Operation(
        "PUT",
        "/v1/people/{name}",
        change_person,
        "Change a person's roles and streams",
        role="admin",
        body=GrantChange,
        reply=GrantInfo,
        codes=("not_found", "bad_parameter"),
    ),
    Operation(
        "DELETE",
        "/v1/people/{name}",
        remove_person,
        "Remove a person, who is logged out; the answers stay",
        role="admin",
        codes=("not_found",),
    ),
    Operation(
        "POST",
        "/v1/people/{name}/invitation",
        invite,
        "Invite a person: a code for one login within ten minutes",
        role="admin",
        reply=InvitationInfo,
        status=201,
        codes=("not_found",),
    ),
    Operation(
        "GET",
        "/v1/tokens",
        list_tokens,
        "Every token, without its secret",
        role="admin",
        reply=list[GrantInfo],
    ),
    Operation(
        "POST",
        "/v1/tokens",
        add_token,
        "Make a token; its secret is shown this once",
        role="admin",
        body=NewGrant,
        reply=NewToken,
        status=201,
        codes=("bad_parameter",),
    ),
    Operation(
        "DELETE",
        "/v1/tokens/{id}",
        revoke_token,
        "Revoke a token",
        role="admin",
        codes=("not_found",),
    ),
)
