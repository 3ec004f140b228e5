"""Checks of the built site: links inside it lead somewhere, and no page loads anything from another origin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
    "embed": "src",
}
"""What a browser loads by itself, by element: the attribute that names it. Links to follow are not here."""

NOT_LOADED = {"canonical", "alternate", "next", "prev"}
"""Relations of <link> that load nothing."""


class Page(HTMLParser):
    """The ids, the links and the loaded resources of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        self.loaded += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        if tag == "link" and given.get("rel") not in NOT_LOADED:
            self.loaded.append(given.get("href", ""))
        self.loaded += re.findall(r"url\(([^)]+)\)", given.get("style", ""))


def missing_targets(site: Path) -> Iterator[str]:
    """Links between pages, and resources of the site, that are not there. Anchors count."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    for page in pages.values():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or page.path.name == "404.html":
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{page.path.relative_to(site)}: {link} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{page.path.relative_to(site)}: {link} names no heading of that page"


def foreign_resources(site: Path) -> Iterator[str]:
    """What a page or a style sheet would load from another origin."""
    for path in sorted(site.rglob("*.html")):
        yield from (f"{path.relative_to(site)} loads {url}" for url in Page(path).loaded if _is_foreign(url))
    for path in sorted(site.rglob("*.css")):
        urls = re.findall(r"""(?:url\(|@import )\s*["']?([^"')\s]+)""", path.read_text())
        yield from (f"{path.relative_to(site)} loads {url}" for url in urls if _is_foreign(url))


def _is_foreign(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https")
