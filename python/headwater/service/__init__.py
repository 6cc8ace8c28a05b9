"""The service: live streams over HTTP, for programs and for people with a browser."""

try:
    import msgspec as _msgspec  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError:  # pragma: no cover
    raise ImportError('headwater.service needs pip install "headwater[serve]".') from None
