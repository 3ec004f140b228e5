"""The sources of the site: the pages with rewritten links, and a page for each file that a page links to.

Not here: the order of the pages (zensical.toml), diagrams (`diagrams`), and the generator (`__main__`).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tools.site.diagrams import copy_scripts, with_diagrams

ROOT = Path(__file__).parents[2]
DOCS = PurePosixPath("docs")

FIRST_PAGES = {
    PurePosixPath("README.md"): PurePosixPath("index.md"),
    PurePosixPath("CONTRIBUTING.md"): PurePosixPath("contributing.md"),
    PurePosixPath("CHANGELOG.md"): PurePosixPath("changelog.md"),
    PurePosixPath("SECURITY.md"): PurePosixPath("reporting.md"),
}
"""Pages outside docs, and their places in the site."""

SHOWN = PurePosixPath("source")
"""The folder of the site for files of the repository that are not pages."""

PICTURES = {".svg", ".png"}
LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".toml": "toml",
    ".sql": "sql",
    ".md": "markdown",
}
LEFT_OUT = {"node_modules", "__pycache__"}

_FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"""(?<=\]\()[^)\s]+(?=\))|(?<=\bsrc=")[^"]+(?=")|(?<=\bsrcset=")[^"]+(?=")""")
"""The addresses of links and pictures in Markdown, and of pictures in HTML for light and dark."""


class Sources:
    """The tree of pages that the generator reads."""

    def __init__(self) -> None:
        self._shown: dict[PurePosixPath, PurePosixPath] = {}
        self._waiting: list[PurePosixPath] = []

    def write(self, folder: Path) -> None:
        """Write the tree. Raises ValueError for a link to a file that does not exist, naming page and link."""
        for source in pages():
            text = self._with_links(source, (ROOT / source).read_text())
            _put(folder / place_of(source), with_diagrams(text, place_of(source)))
        _put(folder / "decisions" / "index.md", _decisions())
        while self._waiting:
            source = self._waiting.pop()
            _put(folder / self._shown[source], self._file_page(source))
        for picture in (ROOT / DOCS).rglob("*"):
            if picture.suffix in PICTURES:
                place = folder / picture.relative_to(ROOT / DOCS)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(picture, place)
        copy_scripts(folder)

    def _with_links(self, source: PurePosixPath, text: str) -> str:
        parts, end = [], 0
        for fence in _FENCE.finditer(text):
            parts += [self._prose(source, text[end : fence.start()]), fence[0]]
            end = fence.end()
        return "".join([*parts, self._prose(source, text[end:])])

    def _prose(self, source: PurePosixPath, text: str) -> str:
        return _LINK.sub(lambda link: self._target(source, link[0]), text)

    def _target(self, source: PurePosixPath, link: str) -> str:
        path, _, heading = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link
        target = PurePosixPath(os.path.normpath(source.parent / path))
        if not (ROOT / target).exists():
            raise ValueError(f"{source}: the link {link} leads to no file")
        relative = os.path.relpath(self._page_for(target), place_of(source).parent)
        return f"{relative}#{heading}" if heading else relative

    def _page_for(self, target: PurePosixPath) -> PurePosixPath:
        """Where a page or file of the repository is in the site. Each other file gets a page that shows it."""
        if target == DOCS / "decisions":
            return PurePosixPath("decisions/index.md")
        if target in FIRST_PAGES or (target.is_relative_to(DOCS) and target.suffix in {".md", *PICTURES}):
            return place_of(target)
        if target not in self._shown:
            page = target / "index.md" if (ROOT / target).is_dir() else target.with_name(f"{target.name}.md")
            self._shown[target] = SHOWN / page
            self._waiting.append(target)
        return self._shown[target]

    def _file_page(self, source: PurePosixPath) -> str:
        head = f"---\ntitle: {source}\nsearch:\n  exclude: true\n---\n\n# {source}\n\n"
        if (ROOT / source).is_dir():
            return head + "\n".join(f"- `{name}`" for name in _listed(source)) + "\n"
        text = (ROOT / source).read_text()
        fence = "`" * (3 + max((len(run) for run in re.findall("`{3,}", text)), default=0))
        return f"{head}{fence}{LANGUAGES.get(source.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def pages() -> list[PurePosixPath]:
    """The pages of the repository that the site has, by their paths in it."""
    below = sorted(path.relative_to(ROOT) for path in (ROOT / DOCS).rglob("*.md"))
    return [*FIRST_PAGES, *(PurePosixPath(path.as_posix()) for path in below)]


def title_of(source: PurePosixPath) -> str:
    """The first heading of a page. Raises ValueError if there is none."""
    found = re.search(r"^# (.+)$", (ROOT / source).read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"{source}: a page begins with a line `# Title`")
    return found[1]


def place_of(source: PurePosixPath) -> PurePosixPath:
    return FIRST_PAGES.get(source) or source.relative_to(DOCS)


def _decisions() -> str:
    lines = ["# Decisions", "", "Each page says what was needed, what was chosen, and what the choice costs.", ""]
    decisions = (source for source in pages() if source.parent == DOCS / "decisions")
    lines += [f"- [{title_of(source)}]({source.name})" for source in decisions]
    return "\n".join(lines) + "\n"


def _listed(folder: PurePosixPath) -> Iterator[str]:
    """The names in a folder, without what tools leave there."""
    for path in sorted((ROOT / folder).iterdir()):
        if path.name not in LEFT_OUT and not path.name.startswith("."):
            yield path.name


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
