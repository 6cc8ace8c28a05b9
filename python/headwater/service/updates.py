"""What has just happened, for whoever watches: server-sent events.

A watcher who is too slow loses the oldest updates; the stream never waits for one.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

MOST_WAITING = 256
"""Updates that wait for one watcher at most."""
PULSE = 1.0
"""Seconds between two counts of events."""
HEARTBEAT = 15.0
"""Seconds after which a silent connection gets a comment, so that nothing on the way closes it."""


class Updates:
    """Updates of all streams, and those who watch them."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._counted: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def publish(self, stream: str, kind: str, **data: Any) -> None:
        """Tell everybody who watches this stream; from any thread."""
        if not self._watchers or self._loop is None:
            return
        update = {"stream": stream, **data}
        text = b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(update))
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self._send(stream, text)
        else:
            self._loop.call_soon_threadsafe(self._send, stream, text)

    def count(self, stream: str, events: int) -> None:
        """So many events more; watchers are told once a second. In the event loop."""
        self._counted[stream] = self._counted.get(stream, 0) + events
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(PULSE, self._tell_counts)

    def _tell_counts(self) -> None:
        self._timer = None
        counted, self._counted = self._counted, {}
        for stream, events in counted.items():
            self.publish(stream, "events", events=events)

    def _send(self, stream: str, text: bytes) -> None:
        for watcher in self._watchers:
            if watcher.streams is None or stream in watcher.streams:
                watcher.put(text)

    async def watch(self, streams: set[str] | None) -> AsyncIterator[bytes]:
        """The updates of some streams, or of all, as parts of a response."""
        self._loop = asyncio.get_running_loop()
        watcher = Watcher(streams)
        self._watchers.add(watcher)
        try:
            yield b": watching\n\n"
            while not self._closed:
                text = await watcher.next()
                if text is None:
                    break
                yield text
        finally:
            self._watchers.discard(watcher)

    def close(self) -> None:
        """End every response that still watches."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for watcher in self._watchers:
            watcher.put(None)

    def __len__(self) -> int:
        return len(self._watchers)


class Watcher:
    """Somebody who watches some streams, and what is on the way to them."""

    def __init__(self, streams: set[str] | None) -> None:
        self.streams = streams
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)

    def put(self, text: bytes | None) -> None:
        if self._waiting.full():
            self._waiting.get_nowait()
        self._waiting.put_nowait(text)

    async def next(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._waiting.get(), HEARTBEAT)
        except TimeoutError:
            return b": still here\n\n"
