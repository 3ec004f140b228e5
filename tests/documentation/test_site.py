"""The documentation builds without a warning, is whole, and needs no network, for search and diagrams either."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tests.compatibility.scripts import node
from tests.support.hanging import PATIENCE_S
from tools.site.__main__ import build
from tools.site.built import foreign_resources, missing_targets
from tools.site.configuration import configuration
from tools.site.sources import ROOT, Sources, pages

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    assert build(folder) == []
    return folder / "site"


def test_every_page_is_there(site: Path) -> None:
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert written - made == set()


def test_in_a_browser_from_files(site: Path) -> None:
    opened = subprocess.run([node(), HERE / "site.mjs", site], capture_output=True, text=True, timeout=PATIENCE_S)
    assert opened.returncode == 0, opened.stderr
    seen = json.loads(opened.stdout)
    diagrams = len(re.findall("^```mermaid$", (ROOT / "docs" / "diagrams.md").read_text(), re.MULTILINE))
    assert seen["foreign"] == []
    assert seen["problems"] == []
    assert seen["diagrams"] == diagrams > 2
    assert int(seen["results"].split()[0]) > 10


def test_a_page_without_a_place_in_the_navigation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.site.configuration.pages", lambda: [*pages(), PurePosixPath("docs/new.md")])
    with pytest.raises(ValueError, match=r"docs/new.md is in no section of the navigation"):
        configuration()


def test_a_link_to_no_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Page\n\n[here](docs/nowhere.md)\n")
    monkeypatch.setattr("tools.site.sources.ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"README.md: the link docs/nowhere.md leads to no file"):
        Sources().write(tmp_path / "pages")


@pytest.mark.parametrize(
    ("html", "wrong"),
    [
        ('<a href="b.html">', "a.html: b.html leads nowhere"),
        ('<a href="a.html#there">', "a.html: a.html#there names no heading of that page"),
        ('<img src="b.svg">', "a.html: b.svg leads nowhere"),
        ('<source srcset="b.svg 2x">', "a.html: b.svg leads nowhere"),
        ('<source srcset="https://x.example/b.svg">', "a.html loads https://x.example/b.svg"),
        ('<script src="https://cdn.example/x.js"></script>', "a.html loads https://cdn.example/x.js"),
        ('<link rel="preconnect" href="//fonts.example">', "a.html loads //fonts.example"),
        ('<p style="background: url(https://x.example/y.png)">', "a.html loads https://x.example/y.png"),
        ('<a href="https://other.example">', None),
        ('<h2 id="here"></h2><a href="#here">', None),
    ],
)
def test_what_is_refused(html: str, wrong: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(html)
    assert [*missing_targets(tmp_path), *foreign_resources(tmp_path)] == ([wrong] if wrong else [])
