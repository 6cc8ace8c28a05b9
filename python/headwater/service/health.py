"""Whether the service is alive and ready."""

from headwater.service.endpoint import Call, Operation
from headwater.service.errors import ServiceError

Health = dict[str, str]


async def healthz(call: Call) -> Health:
    return {"status": "alive"}


async def readyz(call: Call) -> Health:
    if call.service.is_stopping:
        raise ServiceError("unavailable", "The service is stopping.")
    return {"status": "ready"}


OPERATIONS = (
    Operation("GET", "/healthz", healthz, "Whether the process answers", reply=Health),
    Operation(
        "GET",
        "/readyz",
        readyz,
        "Whether it takes events",
        reply=Health,
        codes=("unavailable",),
    ),
)
