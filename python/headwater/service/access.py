"""Who may do what: tokens for programs, sessions for people with a browser.

A token and a person hold roles and streams. `ingest` sends events and labels, `label` answers
questions, `read` looks, `admin` may do everything. Secrets (tokens, cookies, invitation codes) are
random, are shown once and kept as SHA-256 only. A request that changes something by a session must
carry the session's CSRF token, which follows from its cookie.
"""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from headwater.errors import NoSuchError, ParameterError
from headwater.service.errors import ServiceError
from headwater.service.records import Records
from headwater.service.settings import Settings

Role = Literal["ingest", "label", "read", "admin"]
ROLES: tuple[Role, ...] = ("ingest", "label", "read", "admin")
SAFE = ("GET", "HEAD")
INVITATION_SECONDS = 600.0
TOKEN = "hwt_"
"""How tokens begin, so that scanners for secrets in code and logs can find them."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a token or a person may do."""

    id: str
    kind: Literal["token", "person"]
    name: str
    roles: tuple[Role, ...]
    streams: tuple[str, ...] | None = None
    """None: every stream."""
    created: float
    hash: str | None = None
    """Of a token's secret."""

    def allows(self, role: Role, stream: str | None) -> bool:
        """Whether this role, on this stream, is among what it holds."""
        if role not in self.roles and "admin" not in self.roles:
            return False
        return stream is None or self.streams is None or stream in self.streams


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that has logged in; its key is the hash of its cookie."""

    grant: str
    expires: float


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """A code that is good for one login; its key is the hash of the code."""

    grant: str
    expires: float


class Caller:
    """Who sends a request; `cookie` is the secret of the session, if it comes by one."""

    __slots__ = ("cookie", "grant")

    def __init__(self, grant: Grant, cookie: str | None = None) -> None:
        self.grant = grant
        self.cookie = cookie

    @property
    def name(self) -> str:
        return self.grant.name

    def allows(self, role: Role, stream: str | None = None) -> bool:
        return self.grant.allows(role, stream)


class Access:
    """Tokens, people, sessions and invitations."""

    def __init__(
        self, records: Records, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self._records = records
        self._settings = settings
        self._clock = clock
        self._changing = threading.Lock()
        self._grants = records.read("grant", Grant)
        self._tokens = {one.hash: one for one in self._grants.values() if one.hash}
        self._sessions = records.read("session", Session)
        self._invitations = records.read("invitation", Invitation)
        # Cookies are not kept apart by port, so the port is in the name.
        self.cookie_name = f"headwater_{settings.port}"

    # Asked by every request

    def require(
        self, request: HTTPConnection, role: Role | None, stream: str | None = None
    ) -> Caller:
        """The sender, who must hold this role on this stream; else a ServiceError.

        A request that changes something and comes by a session must carry its CSRF token.
        """
        caller = self.identify(request)
        if caller is None:
            raise ServiceError(
                "no_token",
                "This needs a token (Authorization: Bearer ...) or a session; log in first.",
                {"WWW-Authenticate": "Bearer"},
            )
        if role is not None and not caller.allows(role, stream):
            place = "" if stream is None else f" on stream {stream!r}"
            raise ServiceError(
                "wrong_role", f"This needs the role {role}{place}, which {caller.name!r} lacks."
            )
        if caller.cookie is not None and request.scope.get("method", "GET") not in SAFE:
            self.check_csrf(request, caller.cookie)
        return caller

    def identify(self, request: HTTPConnection) -> Caller | None:
        """The sender; None without token and cookie, ServiceError if one of them is not valid."""
        header = request.headers.get("authorization")
        if header is not None:
            token = _token(header)
            grant = None if token is None else self._tokens.get(_hash(token))
            if grant is None:
                raise ServiceError(
                    "bad_token",
                    "The token is unknown or was revoked; ask an admin for another.",
                    {"WWW-Authenticate": "Bearer"},
                )
            return Caller(grant)
        return self.session(request)

    def session(self, request: HTTPConnection) -> Caller | None:
        """The person whose session this is; None if there is none or it has ended."""
        cookie = request.cookies.get(self.cookie_name)
        if cookie is None:
            return None
        session = self._sessions.get(_hash(cookie))
        if session is None or session.expires < self._clock():
            return None
        grant = self._grants.get(session.grant)
        return None if grant is None else Caller(grant, cookie)

    def csrf_token(self, request: HTTPConnection) -> str:
        """The token that a page of this session sends as X-CSRF-Token; empty without a session."""
        cookie = request.cookies.get(self.cookie_name)
        return "" if cookie is None else _csrf(cookie)

    def csrf_of(self, cookie: str) -> str:
        """The CSRF token of a session by its cookie."""
        return _csrf(cookie)

    def check_csrf(self, request: HTTPConnection, cookie: str) -> None:
        """Refuse a request that a page of ours did not send."""
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), _csrf(cookie).encode()):
            raise ServiceError(
                "bad_csrf",
                "A session must send its token as X-CSRF-Token; GET /session tells it. Reload the"
                " page.",
            )

    # Tokens and people

    def grants(self, kind: str) -> list[Grant]:
        """All tokens, or all people, oldest first."""
        found = [one for one in self._grants.values() if one.kind == kind]
        return sorted(found, key=lambda one: (one.created, one.id))

    def person(self, name: str) -> Grant:
        """A person by name."""
        for one in self._grants.values():
            if one.kind == "person" and one.name == name:
                return one
        raise NoSuchError(f"people: there is nobody called {name!r}.")

    def first_token(self) -> str | None:
        """A token for an admin, if there is no token yet."""
        return None if self._tokens else self.add_token("admin", ["admin"])[1]

    def add_token(
        self, name: str, roles: Sequence[str], streams: Sequence[str] | None = None
    ) -> tuple[Grant, str]:
        """A new token and its secret, which is known to nobody afterwards."""
        secret = TOKEN + secrets.token_urlsafe(32)
        return self._add("token", name, roles, streams, _hash(secret)), secret

    def add_person(
        self, name: str, roles: Sequence[str], streams: Sequence[str] | None = None
    ) -> Grant:
        """A new person, who can log in once invited."""
        with self._changing:
            if any(one.kind == "person" and one.name == name for one in self._grants.values()):
                raise ServiceError("exists", f"people: there is somebody called {name!r} already.")
            return self._add_unlocked("person", name, roles, streams, None)

    def change(
        self, grant: Grant, roles: Sequence[str], streams: Sequence[str] | None = None
    ) -> Grant:
        """Give a token or a person other roles and streams."""
        changed = msgspec.structs.replace(
            grant,
            roles=_roles(roles, streams),
            streams=None if streams is None else tuple(streams),
        )
        with self._changing:
            self._keep(changed)
        return changed

    def remove(self, id: str, kind: str) -> None:
        """Revoke a token or remove a person, with its sessions and invitations."""
        with self._changing:
            grant = self._grants.get(id)
            if grant is None or grant.kind != kind:
                raise NoSuchError(f"{kind}: there is none with the id {id!r}.")
            self._records.delete("grant", id)
            del self._grants[id]
            if grant.hash is not None:
                del self._tokens[grant.hash]
            for table, name in ((self._sessions, "session"), (self._invitations, "invitation")):
                ended = [key for key, one in table.items() if one.grant == id]
                if ended:
                    self._records.delete(name, *ended)
                for key in ended:
                    del table[key]

    # Logging in

    def invite(self, grant: Grant) -> tuple[str, float]:
        """A code that is good for one login within ten minutes, and when it ends."""
        code = secrets.token_urlsafe(18)
        one = Invitation(grant=grant.id, expires=self._clock() + INVITATION_SECONDS)
        with self._changing:
            self._records.write("invitation", _hash(code), one)
            self._invitations[_hash(code)] = one
        return code, one.expires

    def log_in(self, *, code: str | None = None, token: str | None = None) -> Caller:
        """A new session, for the code of an invitation or for a token."""
        with self._changing:
            grant = None
            if code is not None:
                invitation = self._invitations.pop(_hash(code), None)
                if invitation is not None:
                    self._records.delete("invitation", _hash(code))
                    if invitation.expires >= self._clock():
                        grant = self._grants.get(invitation.grant)
            elif token is not None:
                grant = self._tokens.get(_hash(token))
            if grant is None:
                what = "token is unknown or was revoked"
                if code is not None:
                    what = "invitation was used, has expired or is unknown"
                raise ServiceError("bad_token", f"The {what}; ask an admin for another.")
            cookie = secrets.token_urlsafe(32)
            expires = self._clock() + self._settings.session_days * 86_400
            session = Session(grant=grant.id, expires=expires)
            self._drop_expired()
            self._records.write("session", _hash(cookie), session)
            self._sessions[_hash(cookie)] = session
        return Caller(grant, cookie)

    def log_out(self, cookie: str) -> None:
        """End a session."""
        with self._changing:
            if self._sessions.pop(_hash(cookie), None) is not None:
                self._records.delete("session", _hash(cookie))

    def set_cookie(self, response: Response, request: Request, cookie: str) -> None:
        """Give a browser its session."""
        response.set_cookie(
            self.cookie_name,
            cookie,
            max_age=int(self._settings.session_days * 86_400),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )

    # Parts

    def _add(
        self,
        kind: Literal["token", "person"],
        name: str,
        roles: Sequence[str],
        streams: Sequence[str] | None,
        hash: str | None,
    ) -> Grant:
        with self._changing:
            return self._add_unlocked(kind, name, roles, streams, hash)

    def _add_unlocked(
        self,
        kind: Literal["token", "person"],
        name: str,
        roles: Sequence[str],
        streams: Sequence[str] | None,
        hash: str | None,
    ) -> Grant:
        if not name or len(name) > 200 or not name.isprintable():
            raise ParameterError(f"{kind}: a name has 1 to 200 printable characters, got {name!r}.")
        grant = Grant(
            id=secrets.token_hex(8),
            kind=kind,
            name=name,
            roles=_roles(roles, streams),
            streams=None if streams is None else tuple(streams),
            created=self._clock(),
            hash=hash,
        )
        self._keep(grant)
        return grant

    def _keep(self, grant: Grant) -> None:
        self._records.write("grant", grant.id, grant)
        self._grants[grant.id] = grant
        if grant.hash is not None:
            self._tokens[grant.hash] = grant

    def _drop_expired(self) -> None:
        now = self._clock()
        old = [key for key, one in self._sessions.items() if one.expires < now]
        if old:
            self._records.delete("session", *old)
            for key in old:
                del self._sessions[key]


def _token(header: str) -> str | None:
    """The token of an Authorization header; of `Basic` it is the password, whoever the user is."""
    kind, _, given = header.partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() != "basic":
        return None
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _csrf(cookie: str) -> str:
    return hmac.new(cookie.encode(), b"csrf", hashlib.sha256).hexdigest()


def _roles(roles: Sequence[str], streams: Sequence[str] | None) -> tuple[Role, ...]:
    if "admin" in roles and streams is not None:
        raise ParameterError("roles: an admin is for every stream; leave streams out.")
    chosen = tuple(one for one in ROLES if one in roles)
    if not chosen or len(chosen) != len(set(roles)):
        raise ParameterError(f"roles: expected some of {', '.join(ROLES)}, got {list(roles)!r}.")
    return chosen
