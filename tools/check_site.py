"""Checks the built site: `python tools/check_site.py FOLDER` fails on broken links and lost pages.

Every link, picture and anchor inside of the site must lead somewhere, and every page must be
reached from the first by links. Links to other sites are not followed: that needs the network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MADE_BY_SPHINX = {"search.html", "genindex.html", "py-modindex.html"}


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of one element."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


def check(site: Path) -> tuple[dict[Path, Page], list[str]]:
    """All pages of the site, and a sentence per fault."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    if site / "index.html" not in pages:
        return pages, [f"{site}: there is no index.html; build the site first."]
    faults, leads = [], dict[Path, set[Path]]()
    for path, page in pages.items():
        leads[path] = set()
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = f"{path.relative_to(site)}: {link}"
            if not target.exists():
                faults.append(f"{where} leads nowhere.")
            elif target in pages:
                leads[path].add(target)
                if parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                    faults.append(f"{where} names a place that the page does not have.")
    reached, waiting = set[Path](), [site / "index.html"]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += leads[path]
    lost = [path for path in pages if path not in reached and path.name not in MADE_BY_SPHINX]
    return pages, faults + [f"{path.relative_to(site)}: no page links to it." for path in lost]


def main(folder: str) -> int:
    """Print the faults, or how large the site is."""
    site = Path(folder).resolve()
    pages, faults = check(site)
    for fault in sorted(faults):
        print(fault)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    links = sum(len(page.links) for page in pages.values())
    print(
        f"{len(pages)} pages, {links:,} links, {size / 1e6:.1f} MB, {len(faults)} faults: {folder}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
