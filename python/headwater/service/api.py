"""Every operation of the API, in the order of its description."""

from headwater.service import health, sessions
from headwater.service.endpoint import Operation

OPERATIONS: tuple[Operation, ...] = (*sessions.OPERATIONS, *health.OPERATIONS)
