"""The pages that are made from the code are current, and every link, command and name in a page exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from keystead.api.public_schema import PATHS
from keystead.cli.main import COMMANDS
from keystead.operations import CATALOGUE, coverage
from keystead.server.settings import configuration
from tools.reference import __main__ as reference
from tools.site.configuration import configuration as site_configuration

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "tests" / "support" / "README.md"])
SOURCE = ROOT / "src" / "keystead"


def test_the_coverage_page() -> None:
    assert coverage.main(["--check"]) == 0, "run make generate"
    page = (ROOT / "docs" / "coverage.md").read_text()
    answered = set(re.findall(r"^\| `((?:query|submit)/\w+)` \| yes ", page, re.MULTILINE))
    in_the_schema = [operation for operation in CATALOGUE if operation.path in PATHS]
    assert answered == {f"{operation.kind}/{operation.name}" for operation in in_the_schema}


def test_the_page_of_differences_names_the_operations_of_our_own() -> None:
    page = (ROOT / "docs" / "divergences.md").read_text()
    own = [operation.name for operation in CATALOGUE if operation.is_own]
    assert [name for name in own if f"`{name}`" not in page] == []


def test_the_readme_says_how_much_is_answered() -> None:
    found = re.search(r"Answered: (\d+) of (\d+) operations", coverage.coverage_page())
    assert found is not None
    assert f"answers [{found[1]} of the {found[2]} operations]" in (ROOT / "README.md").read_text()


def test_the_api_reference() -> None:
    """Its examples are run again."""
    assert reference.main(["--check"]) == 0, "run make generate"


def test_the_configuration_page() -> None:
    assert configuration.main(["--check"]) == 0, "run make generate"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for path, _, heading in (target.partition("#") for target in re.findall(r"\]\(([^)]+)\)", page.read_text())):
        if ":" in path:
            continue
        target = page.parent / path if path else page
        assert target.exists(), path
        if heading:
            assert heading in _headings(target), f"{path}#{heading}"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    assert site_configuration().startswith("# The documentation as a site")


def _headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_tests_of_attacks_exist() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    rows = re.findall(r"^\| .* \|$", page[page.index("## What was attacked") :], re.MULTILINE)
    missing = []
    for row in rows:
        module = ""
        for path, name in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", row):
            module = path or module
            if module and (not (ROOT / module).exists() or (name and name not in (ROOT / module).read_text())):
                missing.append(f"{module}::{name}")
    assert len(rows) > 40
    assert missing == []


def test_each_attack_says_why_it_cannot_come_back() -> None:
    """By a text of its own, or by the name, in italics, of a construction that the table above defines."""
    page = (ROOT / "docs" / "security.md").read_text()
    table = page[page.index("## What was attacked") :]
    constructions, attacks = table.split("| attack | why it cannot come back |")
    defined = re.findall(r"^\| \*(.+?)\* \| .+ \|$", constructions, re.MULTILINE)
    cells = re.findall(r"^\| (.+) \| (.+) \| (.*`tests/.*) \|$", attacks, re.MULTILINE)
    named = [why.strip("*") for _, why, _ in cells if why.startswith("*")]
    assert len(cells) == len(re.findall(r"^\| .* \|$", attacks, re.MULTILINE)) > 160
    assert set(named) == set(defined)


def test_the_tests_of_limits_exist() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    modules: dict[str, str] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        modules[path.name] = modules.get(path.name, "") + path.read_text()
    missing = []
    module = ""
    named = re.findall(r"`(?:(test_\w+\.py)(?:::(\w+))?|::(\w+))`", page)
    for name, of_module, of_last in named:
        module = name or module
        if (of_module or of_last) not in modules.get(module, "") or module not in modules:
            missing.append(f"{module}::{of_module or of_last}")
    assert len(named) > 60
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_link_to_a_module_are_defined_there(page: Path) -> None:
    links = re.findall(r"\[`([A-Za-z_.]+)`\]\(([^)#]+\.py)\)", page.read_text())
    missing = [f"{name} in {path}" for name, path in links if name not in _names_in(page.parent / path)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_in_backquotes_exist(page: Path) -> None:
    """A path is written from the root of the repository or from `src/keystead`. `<chain>` stands for each chain."""
    text = page.read_text()
    of_reader = re.findall(r"^<!-- file: (\S+) -->$", text, re.MULTILINE)
    missing = [path for path in _paths_in(text) if path not in of_reader and not any(_matching(path))]
    assert missing == []


def _paths_in(text: str) -> list[str]:
    """What looks like a file or folder of this repository: it begins with one of its folders."""
    inside = [*ROOT.iterdir(), *SOURCE.iterdir()]
    folders = {path.name for path in inside if path.is_dir()} - {".keystead"}  # a development server makes that
    named = re.findall(r"`([\w.-]+/[\w./<>-]*)`", text)
    return [path for path in named if path.partition("/")[0] in folders and "NNNN" not in path]


def _matching(path: str) -> Iterator[Path]:
    pattern = re.sub(r"<\w+>", "*", path.rstrip("/"))
    for folder in (ROOT, SOURCE):
        yield from folder.glob(pattern)


def test_the_tour_names_functions() -> None:
    assert len(re.findall(r"\[`[A-Za-z_.]+`\]\([^)]+\.py\)", (ROOT / "docs" / "tour.md").read_text())) > 40


def _names_in(module: Path) -> set[str]:
    """The functions and classes of a module, and `Class.method` of their methods."""
    names: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


def test_architecture_lists_the_packages_in_the_order_of_their_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`.*`) \|", page, re.MULTILINE)
    listed = [{name.rstrip("/") for name in re.findall(r"`([^`]+)`", row)} for row in rows]
    assert listed == [{name.removeprefix("keystead.") for name in layer.split(" | ")} for layer in layers]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    pages = "".join(page.read_text() for page in PAGES)
    assert f"keystead {command}" in pages
