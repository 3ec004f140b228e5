"""docs/policies.md is true: its files run, its expressions can be read, and it names everything there is."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from keystead.api.enums import Effect
from keystead.operations import CATALOGUE
from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.policy import check_policy
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.resources import ROOT_ONLY
from keystead.policies.testing.organization import PolicyTable
from keystead.policies.testing.schema import read
from tests.support.policy_fixtures import compiled, policy
from tests.support.terminal import Terminal

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^<!-- printed -->\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPRESSIONS = [(Clause(word), text) for word, text in FENCED.findall(PAGE) if word in list(Clause)]


def test_the_example_prints_what_it_says(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FILES.findall(PAGE)
    assert len(files) == 3
    for name, text in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    printed = terminal.run("policy", "test", "cases.toml")
    assert (printed.code, printed.err) == (0, "")
    assert PRINTED.findall(PAGE) == [printed.out]


@pytest.mark.parametrize(("clause", "text"), EXPRESSIONS)
def test_expressions_can_be_read(clause: Clause, text: str) -> None:
    compiled(text.strip(), clause)


def test_there_are_expressions_of_every_clause() -> None:
    assert {clause for clause, _ in EXPRESSIONS} == set(Clause)


def test_the_example_of_a_policy_is_one() -> None:
    (text, *_) = [text for word, text in FENCED.findall(PAGE) if word == "json"]
    written = read(msgspec.json.decode(text), PolicyTable, "the example")
    check_policy(policy(written.effect, written.condition, written.consensus, written.time), None)
    assert written.effect is Effect.ALLOW


def test_every_keyword_is_named() -> None:
    """Their fields are on a page that is generated."""
    named = set(re.findall(r"`([a-z_]+)[`.]", PAGE))
    assert {keyword for keywords in KEYWORDS.values() for keyword in keywords} <= named


def test_the_table_of_outcomes() -> None:
    assert set(re.findall(r"^\| `(OUTCOME_\w+)` \|", PAGE, re.MULTILINE)) == set(EvaluationOutcome)


def test_what_only_the_root_quorum_may_do_is_named() -> None:
    assert all(name in PAGE for name in ROOT_ONLY)


def test_operations_exist() -> None:
    names = set(re.findall(r"`((?:create|update|delete|get|approve|reject|list)_[a-z_]+)`", PAGE))
    assert names <= {operation.name for operation in CATALOGUE}
