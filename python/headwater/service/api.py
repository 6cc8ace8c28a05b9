"""Every operation of the API, in the order of its description; events first, as they come most."""

from headwater.service import (
    events,
    health,
    label_studio,
    people,
    quality,
    questions,
    sessions,
    streams,
    webhook_routes,
)
from headwater.service.endpoint import Operation
from headwater.service.health import description
from headwater.service.openapi import describe

_LISTED: tuple[Operation, ...] = (
    *events.OPERATIONS,
    *questions.OPERATIONS,
    *streams.OPERATIONS,
    *quality.OPERATIONS,
    *people.OPERATIONS,
    *webhook_routes.OPERATIONS,
    *label_studio.OPERATIONS,
    *sessions.OPERATIONS,
    *health.OPERATIONS,
)

DOCUMENT = describe([*_LISTED, description({})])

OPERATIONS: tuple[Operation, ...] = (*_LISTED, description(DOCUMENT))
