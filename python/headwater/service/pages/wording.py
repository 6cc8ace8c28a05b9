"""How names, numbers and times are written on a page: harmless, short, with their unit."""

import math
import unicodedata
from datetime import UTC, datetime, tzinfo
from typing import Any

from markupsafe import Markup

LONGEST = 2_000
"""The most characters of a text that a page shows."""
THIN = "\u2009"
TIME, DATE_AND_TIME = "%H:%M:%S", "%Y-%m-%d %H:%M:%S"


def plain(text: Any) -> str:
    """A text in which nothing is invisible: control and bidirectional marks become escapes.

    Examples
    --------
    >>> plain("a\\x00b"), plain("ab\\u202ecd")
    ('a\\\\x00b', 'ab\\\\u202ecd')
    >>> len(plain("x" * 5_000))
    2001
    """
    text = str(text)
    cut = text[:LONGEST] + "…" if len(text) > LONGEST else text
    return "".join(_written(mark) for mark in cut)


def _written(mark: str) -> str:
    if mark in "\n\t":
        return mark
    kind = unicodedata.category(mark)
    if kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return mark.encode("unicode-escape").decode()
    return mark


def number(value: Any) -> str:
    """A number with four significant digits, or all of an integer.

    Examples
    --------
    >>> number(0.123456), number(12345678), number(-3.0), number(1e-9), number(float("nan"))
    ('0.1235', '12\\u2009345\\u2009678', '−3', '1e−9', 'not a number')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return plain(value)
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("infinite" if value > 0 else "−infinite")
    if value == int(value) and abs(value) < 1e15:
        written = f"{int(value):,}".replace(",", THIN)
    elif abs(value) >= 1e6 or abs(value) < 1e-4:
        written = f"{value:.3e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
        digits, _, power = written.partition("e")
        written = f"{digits.rstrip('0').rstrip('.')}e{power}"
    else:
        decimals = max(0, 3 - math.floor(math.log10(abs(value))))
        written = f"{value:,.{decimals}f}"
        if "." in written:
            written = written.rstrip("0").rstrip(".")
        written = written.replace(",", THIN)
    return written.replace("-", "−")


def percent(share: float | None, digits: int = 0) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.0815, 1), percent(None)
    ('8.2\xa0%', '–')
    """
    return "–" if share is None or math.isnan(share) else f"{share * 100:.{digits}f}\xa0%"


def signed(value: float) -> str:
    """A change with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-1.5)
    ('+0.25', '\u22121.5')
    """
    written = number(float(f"{value:.2g}"))
    return written if value < 0 else f"+{written}"


def span(seconds: float) -> str:
    """A length of time in its largest unit.

    Examples
    --------
    >>> span(0.4), span(75), span(7_300), span(200_000)
    ('0.4 s', '1 min', '2 h', '2 days')
    """
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"
    for size, unit in ((86_400 * 2, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            divisor = 86_400 if unit == "days" else size
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(time: float, now: float) -> str:
    """How long ago something was.

    Examples
    --------
    >>> ago(100.0, 102.0), ago(0.0, 7_300.0)
    ('just now', '2 h ago')
    """
    return "just now" if now - time < 5 else f"{span(now - time)} ago"


def moment(time: float, zone: tzinfo | None = None, now: float | None = None) -> str:
    """A time of day, with its date unless it is today's.

    Examples
    --------
    >>> from datetime import timezone
    >>> moment(0.0, timezone.utc), moment(3_600.0, timezone.utc, now=7_200.0)
    ('1970-01-01 00:00:00', '01:00:00')
    """
    at = datetime.fromtimestamp(time, zone)
    same = now is not None and datetime.fromtimestamp(now, zone).date() == at.date()
    return at.strftime(TIME if same else DATE_AND_TIME)


def stamp(time: float, zone: tzinfo | None = None, now: float | None = None) -> Markup:
    """A time of day as the service writes it, which a script turns into the viewer's own zone.

    Examples
    --------
    >>> from datetime import timezone
    >>> print(stamp(0.0, timezone.utc))
    <time datetime="1970-01-01T00:00:00Z" data-at="0">1970-01-01 00:00:00</time>
    """
    exact = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    today = "" if now is None else f' data-now="{now:.0f}"'
    return Markup(
        f'<time datetime="{exact}" data-at="{time:.0f}"{today}>{moment(time, zone, now)}</time>'
    )
