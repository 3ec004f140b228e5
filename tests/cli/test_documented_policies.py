"""docs/policies.md is true: its files run, its expressions can be read, and it names everything there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from keystead.api.enums import Effect
from keystead.operations import CATALOGUE
from keystead.policies.language.namespaces import KEYWORDS, PARAMS, Clause
from keystead.policies.language.types import ListOf, MapOf, StructOf, Type
from keystead.policies.policy import check_policy
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.resources import GOVERNED_KINDS, ROOT_ONLY
from keystead.policies.testing.organization import PolicyTable
from keystead.policies.testing.schema import read
from keystead.server.settings.settings import NAMES
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
    check_policy(policy(written.effect, written.condition, written.consensus, written.time))
    assert written.effect is Effect.ALLOW


def fields_of(kind: Type) -> Iterator[str]:
    match kind:
        case StructOf(fields=fields):
            for name, member in fields.items():
                yield name
                yield from fields_of(member)
        case ListOf(item=inner) | MapOf(value=inner):
            yield from fields_of(inner)


def test_every_keyword_and_field_is_named() -> None:
    named = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
    fields = {
        name
        for keywords in KEYWORDS.values()
        for keyword, kind in keywords.items()
        for name in (keyword, *fields_of(kind if keyword != "activity" else StructOf({})))
    }
    assert fields - named == set()


def test_the_table_of_kinds() -> None:
    rows = re.findall(r"^\| ([A-Z_]+) \| ((?:CREATE|UPDATE|DELETE|IMPORT).*) \|$", PAGE, re.MULTILINE)
    told = {}
    for resource, actions in rows:
        for action in actions.split("; "):
            word, kinds = re.sub(r" \(.*?\)", "", action).split(": ")
            told.update(dict.fromkeys(kinds.split(", "), (resource, word)))
    assert told == {kind: (attributes.resource, attributes.action) for kind, attributes in GOVERNED_KINDS.items()}


def test_the_table_of_parameters() -> None:
    rows = re.findall(r"^\| ([A-Z0-9_, ]+) \| (`[a-z_]+`.*) \|$", PAGE, re.MULTILINE)
    told = {
        name: re.findall(r"`([a-z_]+)`", fields)
        for names, fields in rows
        for name in names.split(", ")
        if name in PARAMS
    }
    assert told == {name: list(fields) for name, fields in PARAMS.items()}


def test_the_table_of_outcomes() -> None:
    assert set(re.findall(r"^\| `(OUTCOME_\w+)` \|", PAGE, re.MULTILINE)) == set(EvaluationOutcome)


def test_what_only_the_root_quorum_may_do_is_named() -> None:
    assert all(name in PAGE for name in ROOT_ONLY)


def test_settings_exist() -> None:
    assert set(re.findall(r"KEYSTEAD_[A-Z_]+", PAGE)) <= NAMES


def test_operations_exist() -> None:
    names = set(re.findall(r"`((?:create|update|delete|get|approve|reject|list)_[a-z_]+)`", PAGE))
    assert names <= {operation.name for operation in CATALOGUE}
