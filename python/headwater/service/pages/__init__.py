"""The pages for people: every route of theirs in one place."""

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Mount, Route

from headwater.service.pages.dashboard import Dashboard
from headwater.service.pages.entrance import Entrance
from headwater.service.pages.event import EventPage
from headwater.service.pages.features import Features
from headwater.service.pages.labelling import Labelling
from headwater.service.pages.people import People
from headwater.service.pages.rendering import Renderer, StaticFolder

if TYPE_CHECKING:
    from headwater.service.service import Service


def routes(service: "Service") -> list[BaseRoute]:
    """The routes of all pages."""
    pages = Renderer(service)
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
