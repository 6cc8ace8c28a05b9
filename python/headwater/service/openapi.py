"""The description of the API, made from the table of operations and the types of its bodies."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater._core import __version__
from headwater.service.endpoint import OneOrMany, Operation
from headwater.service.errors import CODES
from headwater.service.events import Refusal

ALWAYS = ("no_route", "wrong_host", "wrong_origin", "internal")
"""Codes that every operation may answer with."""
FOR_ROLES = ("no_token", "bad_token", "wrong_role", "too_many_requests")
FOR_CHANGES = ("bad_csrf",)
FOR_BODIES = ("bad_json", "bad_request", "duplicate_key", "too_slow", "too_large", "not_json")
REF = "#/components/schemas/{name}"
MEANINGS = {
    "s": "the name of a stream",
    "id": "an id",
    "q": "a question: stream, colon, number",
    "a": "an answer: stream, colon, number",
    "name": "a person's name",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole description."""
    types = [one for operation in operations for one in _types(operation)]
    schemas, components = msgspec.json.schema_components([*types, Refusal], ref_template=REF)
    by_type = dict(zip(map(repr, [*types, Refusal]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r":\w+}", "}", operation.path)
        entry = _entry(operation, path, by_type)
        paths.setdefault(path, {})[operation.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headwater",
            "version": __version__,
            "description": "Live streams over HTTP: events in, predictions and questions out.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def codes_of(operation: Operation) -> set[str]:
    """Every code that an operation may answer with."""
    codes = {*ALWAYS, *operation.codes}
    if operation.role is not None:
        codes |= set(FOR_ROLES)
        if operation.method != "GET":
            codes |= set(FOR_CHANGES)
    if operation.body is not None:
        codes |= set(FOR_BODIES)
    if any(part in operation.path for part in ("{s}", "{q}", "{a}")):
        codes.add("not_found")
    return codes


def _types(operation: Operation) -> list[Any]:
    reply = operation.reply.of if isinstance(operation.reply, OneOrMany) else operation.reply
    return [one for one in (_body(operation), reply) if one not in (None, bytes)]


def _body(operation: Operation) -> Any:
    return operation.documented_body if operation.body is bytes else operation.body


def _entry(operation: Operation, path: str, schemas: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.does.__name__,
        "summary": operation.summary,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": MEANINGS[name],
                "schema": {"type": "string", "minLength": 1},
            }
            for name in re.findall(r"{(\w+)}", path)
        ],
        "responses": _responses(operation, schemas),
    }
    entry["parameters"] += [
        {"name": one.name, "in": "query", "description": one.meaning, "schema": one.schema}
        for one in operation.query
    ]
    if operation.role is not None:
        entry["security"] = [{"token": []}]
        entry["description"] = f"Needs the role `{operation.role}`."
    body = _body(operation)
    if body is not None:
        schema = {"schema": schemas[repr(body)]}
        entry["requestBody"] = {"required": True, "content": {"application/json": schema}}
    return entry


def _responses(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    good: dict[str, Any] = {"description": operation.summary}
    if operation.reply is bytes:
        good["content"] = {operation.content: {}}
    elif operation.reply is not None:
        good["content"] = {operation.content: {"schema": _reply(operation.reply, schemas)}}
    status = "204" if operation.reply is None else str(operation.status)
    responses = {status: good}
    content = {"application/json": {"schema": schemas[repr(Refusal)]}}
    for code in sorted(codes_of(operation), key=lambda code: CODES[code].status):
        number = str(CODES[code].status)
        said = f"`{code}`: {CODES[code].when}"
        if number in responses:
            responses[number]["description"] += f"; {said}"
        else:
            responses[number] = {"description": said, "content": content}
    return responses


def _reply(reply: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(reply, OneOrMany):
        found: dict[str, Any] = schemas[repr(reply)]
        return found
    one, refusal = schemas[repr(reply.of)], schemas[repr(Refusal)]
    return {"anyOf": [one, {"type": "array", "items": {"anyOf": [one, refusal]}}]}


def routes_table(operations: Sequence[Operation]) -> str:
    """The table of routes, as its documentation page has it."""
    rows = []
    for one in operations:
        path = one.path.replace(":path}", "}")
        rows.append(f"| `{one.method} {path}` | {one.role or 'none'} | {one.summary} |")
    return "\n".join(["| route | role | does |", "| --- | --- | --- |", *rows])
