"""The pages that are made from the code are current, and the README names every command and page that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keystead.api.public_schema import PATHS
from keystead.cli.main import COMMANDS
from keystead.operations import CATALOGUE, coverage
from keystead.server import configuration

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])


def test_the_coverage_page() -> None:
    assert coverage.main(["--check"]) == 0, "run make generate"
    page = (ROOT / "docs" / "coverage.md").read_text()
    answered = set(re.findall(r"^\| `((?:query|submit)/\w+)` \| yes ", page, re.MULTILINE))
    in_the_schema = [operation for operation in CATALOGUE if operation.path in PATHS]
    assert answered == {f"{operation.kind}/{operation.name}" for operation in in_the_schema}
    # Our own query, and an activity type for which the public API has no path.
    assert {operation.name for operation in CATALOGUE} - {operation.name for operation in in_the_schema} == {
        "list_policy_warnings",
        "update_wallet_account_name",
    }


def test_the_configuration_page() -> None:
    assert configuration.main(["--check"]) == 0, "run make generate"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    pages = "".join(page.read_text() for page in PAGES)
    assert f"keystead {command}" in pages
