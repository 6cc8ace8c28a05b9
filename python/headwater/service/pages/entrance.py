"""The way in: logging in, the list of streams, and the three lines that send the first event."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headwater.service.access import Caller
from headwater.service.pages.rendering import Renderer, base_of, in_thread


class Entrance:
    """The pages before those of a stream."""

    def __init__(self, pages: Renderer) -> None:
        self.pages = pages

    async def index(self, request: Request) -> Response:
        """The page of the only stream, or the list of streams."""
        caller = self.pages.service.access.session(request)
        if caller is None:
            return RedirectResponse("/login", 303)
        names = [name for name in self.pages.service.streams if self._may_see(caller, name)]
        if len(names) == 1:
            return RedirectResponse(await in_thread(self._first_page, caller, names[0]), 303)
        streams = [
            {
                "name": name,
                "base": base_of(name),
                "waiting": await in_thread(self.pages.service.streams[name].desk.waiting),
            }
            for name in names
        ]
        return self.pages.page(request, "streams.html", streams=streams)

    def _may_see(self, caller: Caller, stream: str) -> bool:
        return caller.allows("label", stream) or caller.allows("read", stream)

    def _first_page(self, caller: Caller, stream: str) -> str:
        base = base_of(stream)
        if caller.allows("read", stream) and not self.pages.service.streams[stream].learner.seen:
            return f"{base}/start"
        return f"{base}/label" if caller.allows("label", stream) else f"{base}/"

    async def login(self, request: Request) -> Response:
        wanted = request.query_params.get("next", "/")
        here = wanted if wanted.startswith("/s/") and "\\" not in wanted else "/"
        return self.pages.page(request, "login.html", session_address="/session", next=here)

    async def start(self, request: Request) -> Response:
        """How to send the first event; once it is there, the way goes on."""
        caller, loop = self.pages.enter(request, "read")
        if loop.learner.seen:
            return RedirectResponse(self._first_page(caller, loop.stream), 303)
        origin = f"{request.url.scheme}://{request.url.netloc}"
        place = self.pages.place(caller, loop.stream)
        return self.pages.page(request, "start.html", place=place, origin=origin)
