"""The application: every route in one place."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import groupby

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from headwater.learners.base import Learner
from headwater.service import pages
from headwater.service.api import OPERATIONS
from headwater.service.endpoint import Endpoint
from headwater.service.errors import ServiceError, explained
from headwater.service.guard import Guard
from headwater.service.pages.rendering import Renderer
from headwater.service.service import Service
from headwater.service.settings import Settings


def create_app(settings: Settings, learners: Mapping[str, Learner] | None = None) -> Starlette:
    """The service as an ASGI application; `app.state.service` is what it works on.

    The streams are open when this returns. They are closed, with a snapshot each, when the server
    stops.
    """
    service = Service(settings, learners)
    renderer = Renderer(service)
    app = Starlette(
        routes=[*api_routes(service), *pages.routes(renderer)],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={
            HTTPException: _http_error,
            ServiceError: _service_error,
            Exception: _service_error,
        },
        lifespan=_lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.renderer = service, renderer
    return app


def api_routes(service: Service) -> list[BaseRoute]:
    """One route per path of the API."""
    by_path = groupby(sorted(OPERATIONS, key=lambda one: one.path), key=lambda one: one.path)
    endpoints = [(path, Endpoint(service, path, list(some))) for path, some in by_path]
    order = {one.path: place for place, one in reversed(list(enumerate(OPERATIONS)))}
    return [Route(path, end) for path, end in sorted(endpoints, key=lambda one: order[one[0]])]


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.webhooks.start()
    try:
        yield
    finally:
        service.stop()
        await service.webhooks.stop()
        await run_in_threadpool(service.close)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = dict(error.headers or {})
        said = ServiceError("wrong_method", f"{request.method} is not possible here.", allowed)
    else:
        said = ServiceError("no_route", f"There is nothing at {request.url.path[:200]!r}.")
    return _said(request, said)


async def _service_error(request: Request, error: Exception) -> Response:
    """An error of a page, or a fault."""
    request.scope["headwater_error"] = error
    return _said(request, explained(error))


def _said(request: Request, said: ServiceError) -> Response:
    """JSON; for somebody with a browser a page, or the way to log in."""
    wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if not wants_page or request.url.path.startswith("/v1/"):
        return JSONResponse(said.plain(), said.status, said.headers)
    if said.status == 401:
        return RedirectResponse("/login", 303)
    return pages.problem(request.app.state.renderer, request, said)
