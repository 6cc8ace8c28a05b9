"""What every page needs: templates, the person who looks, the bar on top, the files beside it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from headwater.live import Loop
from headwater.service.access import Caller, Role
from headwater.service.errors import ServiceError
from headwater.service.pages.drawing import meter, shape
from headwater.service.pages.fields import CardLayout
from headwater.service.pages.known import Recent
from headwater.service.pages.wording import number, percent, plain
from headwater.types import Label

if TYPE_CHECKING:
    from headwater.service.service import Service

HERE = Path(__file__).parent
STATIC = HERE / "static"
MOST_BODY = 1 << 20


class Place(NamedTuple):
    """Where a page is: its stream, who looks at it, and the pages beside it."""

    stream: str
    title: str
    """How pages call the stream."""
    person: str
    base: str
    streams: list[str]
    pages: list[tuple[str, str]]


class Renderer:
    """Writes pages from templates, for those who may see them."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self.layout = CardLayout.from_config(service.settings.config)
        self.recent = Recent(service.settings.database)
        self._versions = {one.name: _version(one) for one in sorted(STATIC.iterdir())}
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(plain=plain, number=number, percent=percent)
        self._templates.globals.update(asset=self.asset, meter=meter, shape=shape)

    def asset(self, name: str) -> str:
        """The address of a file, which changes with its content."""
        return f"/static/{name}?{self._versions[name]}"

    def enter(self, request: Request, role: Role) -> tuple[Caller, Loop]:
        """Who sends a request about a stream, and the stream; a ServiceError if it may not be."""
        name = request.path_params["stream"]
        caller = self.service.access.require(request, role, name)
        return caller, self.service.stream(name)

    def place(self, caller: Caller, stream: str) -> Place:
        """The bar on top of a page of a stream."""
        base = base_of(stream)
        streams = [name for name in self.service.streams if caller.allows("read", name)]
        pages = [("Label", f"{base}/label")] if caller.allows("label", stream) else []
        if caller.allows("read", stream):
            pages += [
                ("Dashboard", f"{base}/"),
                ("Features", f"{base}/features"),
                ("People", f"{base}/people"),
            ]
        title = plain(self.service.file or stream)
        return Place(stream, title, caller.name, base, streams, pages)

    def text(self, template: str, **data: Any) -> str:
        """A template, filled in."""
        return self._templates.get_template(template).render(**data)

    def page(
        self,
        request: Request,
        template: str,
        *,
        place: Place | None = None,
        here: str = "",
        status: int = 200,
        **data: Any,
    ) -> Response:
        """A page."""
        csrf = self.service.access.csrf_token(request)
        text = self.text(template, place=place, here=here, csrf=csrf, **data)
        return HTMLResponse(text, status)

    async def body(self, request: Request) -> dict[str, Any]:
        """The JSON object that a script of ours sent."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise ServiceError("not_json", "The body's content type must be application/json.")
        sent = b""
        async for chunk in request.stream():
            sent += chunk
            if len(sent) > MOST_BODY:
                raise ServiceError("too_large", f"The body has more than {MOST_BODY:,} bytes.")
        try:
            data = json.loads(sent)
        except ValueError:
            raise ServiceError("bad_json", "The body is not JSON.") from None
        if not isinstance(data, dict):
            raise ServiceError("bad_request", "The body does not fit: expected an object.")
        return data


def base_of(stream: str) -> str:
    """The address of a stream's pages."""
    return f"/s/{quote(stream, safe='')}"


def event_address(stream: str, event: Any) -> str:
    """The address of the page about an event, by its id."""
    known = f"~{event}" if isinstance(event, int) else str(event)
    return f"{base_of(stream)}/events/{quote(known, safe='')}"


def _version(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class StaticFolder(StaticFiles):
    """The style sheet, scripts and drawings; an address with a version never changes."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        forever = bool(scope.get("query_string"))
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if forever else "no-cache"
        )
        return response


async def in_thread(call: Any, *arguments: Any, **named: Any) -> Any:
    """What may wait for the database runs beside the loop of the server."""
    return await run_in_threadpool(call, *arguments, **named)


def given(data: Mapping[str, Any], name: str, kind: type) -> Any:
    """A part of a body, which must be of a kind."""
    value = data.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ServiceError(
            "bad_request", f"The body does not fit: {name} must be of type {kind.__name__}."
        )
    return value


def given_label(data: Mapping[str, Any]) -> Label:
    """The label of a body."""
    label = data.get("label")
    if isinstance(label, (bool, int, float, str)):
        return label
    raise ServiceError("bad_request", "The body does not fit: label must be a text or a number.")
