"""The pages for people: every route of theirs in one place."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from headwater.service.errors import ServiceError
from headwater.service.pages.dashboard import Dashboard
from headwater.service.pages.entrance import Entrance
from headwater.service.pages.event import EventPage
from headwater.service.pages.features import Features
from headwater.service.pages.labelling import Labelling
from headwater.service.pages.people import People
from headwater.service.pages.rendering import Renderer, StaticFolder

HEADINGS = {403: "Not for you", 404: "Nothing is here"}
"""What stands over the sentence of an error, by status; others are faults of the service."""


def problem(pages: Renderer, request: Request, error: ServiceError) -> Response:
    """An error for somebody with a browser."""
    heading = HEADINGS.get(error.status, "That did not work")
    text = str(error).removeprefix("live: ")
    text = text[:1].upper() + text[1:]
    return pages.page(request, "problem.html", status=error.status, heading=heading, text=text)


def routes(pages: Renderer) -> list[BaseRoute]:
    """The routes of all pages."""
    entrance, labelling = Entrance(pages), Labelling(pages)
    event, people = EventPage(pages), People(pages)
    stream = "/s/{stream}"
    return [
        Route("/", entrance.index),
        Route("/login", entrance.login),
        Route(f"{stream}/", Dashboard(pages).page),
        Route(f"{stream}/start", entrance.start),
        Route(f"{stream}/label", labelling.page),
        Route(f"{stream}/label/cards", labelling.cards, methods=["POST"]),
        Route(f"{stream}/label/acts", labelling.acts, methods=["POST"]),
        Route(f"{stream}/features", Features(pages).page),
        Route(f"{stream}/correct", event.correct, methods=["POST"]),
        Route(f"{stream}/events/{{event:path}}", event.page),
        Route(f"{stream}/people", people.page),
        Route(f"{stream}/people/invite", people.invite, methods=["POST"]),
        Route(f"{stream}/people/settle", people.settle, methods=["POST"]),
        Mount("/static", StaticFolder()),
    ]
