"""The pages for people."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

if TYPE_CHECKING:
    from headwater.service.service import Service


def routes(service: "Service") -> list[BaseRoute]:
    """The routes of all pages."""

    async def index(request: Request) -> Response:
        return PlainTextResponse(
            "Headwater is running. Its API is described by /v1/openapi.json.\n"
        )

    return [Route("/", index)]
