"""The generator's configuration: zensical.toml of the repository, with the pages of each folder in its navigation.

`"reference/*"` in the navigation stands for the pages of that folder that it does not name itself. Every page has a
place; one that has none is an error, so that a new page is found.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tools.site.sources import DOCS, ROOT, pages, place_of, title_of

SETTINGS = ROOT / "zensical.toml"


def configuration() -> str:
    """The text of the configuration. Raises ValueError for a page that the navigation lacks, or names in vain."""
    settings = tomllib.loads(SETTINGS.read_text())
    written: list[Any] = settings["project"]["nav"]
    sources = {str(place_of(source)): source for source in pages()}
    named = {place for place in _places(written) if not place.endswith("/*")}
    if unknown := sorted(named - {*sources, "decisions/index.md"}):
        raise ValueError(f"zensical.toml names {unknown[0]} in its navigation, and there is no such page")
    nav = _expanded(written, named, sources)
    if missing := sorted(set(sources) - set(_places(nav))):
        raise ValueError(f'docs/{missing[0]} is in no section of the navigation: add it to "nav" in zensical.toml')
    return SETTINGS.read_text().replace(_written_nav(), f"nav = {_toml(nav)}\n")


def _expanded(nav: list[Any], named: set[str], sources: dict[str, PurePosixPath]) -> list[Any]:
    made: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/*"):
            folder = entry.removesuffix("*")
            found = sorted(place for place in sources if place.startswith(folder) and place not in named)
            made += [{_short_title(sources[place]): place} for place in found]
        elif isinstance(entry, dict):
            made.append(
                {
                    title: _expanded(value, named, sources) if isinstance(value, list) else value
                    for title, value in entry.items()
                }
            )
        else:
            made.append(entry)
    return made


def _short_title(source: PurePosixPath) -> str:
    """Decisions are listed by their numbers, whether or not their titles have one."""
    title = title_of(source)
    if source.parent != DOCS / "decisions":
        return title
    number, bare = source.name[:4], title.lstrip("0123456789. ")
    return f"{number} {bare}"


def _places(nav: Any) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case dict():
            for value in nav.values():
                yield from _places(value)
        case list():
            for value in nav:
                yield from _places(value)


def _written_nav() -> str:
    """The lines of the navigation in zensical.toml: from `nav = [` to the line `]`."""
    text = SETTINGS.read_text()
    start = text.index("nav = [")
    return text[start : text.index("\n]\n", start) + 3]


def _toml(value: Any) -> str:
    """Strings, lists and tables in one line each, as TOML writes them."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(_toml(each) for each in value)}]"
        case dict():
            members = (f"{_toml(key)} = {_toml(each)}" for key, each in value.items())
            return f"{{ {', '.join(members)} }}"
    raise TypeError(value)
