"""`keystead policy test`: exit codes, what it prints, where policies and users come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keystead.api.enums import Effect
from tests.support.terminal import FakeServer, Terminal, policy, refused, user

POLICIES = """
[[policies]]
policyName = "Ana makes wallets"
effect = "EFFECT_ALLOW"
consensus = "approvers.any(u, u.id == 'Ana')"
"""
USERS = """
[[users]]
name = "Ana"
[[users]]
name = "Ben"
"""
ALLOWED = """
[[cases]]
name = "Ana makes one"
who = "Ana"
type = "ACTIVITY_TYPE_CREATE_WALLET"
expect = "allow"
"""
DENIED = ALLOWED.replace("Ana", "Ben")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cases.toml"


def test_all_hold(file: Path, terminal: Terminal) -> None:
    file.write_text(POLICIES + USERS + ALLOWED)
    printed = terminal.run("policy", "test", str(file))
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.splitlines() == [
        "✓ Ana makes one → allow: a policy allows ('Ana makes wallets')",
        "",
        "1 of 1 cases hold",
    ]


def test_a_case_that_does_not_hold(file: Path, terminal: Terminal) -> None:
    file.write_text(POLICIES + USERS + ALLOWED + DENIED)
    printed = terminal.run("policy", "test", str(file))
    assert printed.code == 1
    assert printed.out.splitlines()[1:] == [
        "✗ Ben makes one → deny: nothing allows it; expected allow",
        "      Ana makes wallets  ALLOW  DENY_IMPLICIT  does not apply: its consensus is false",
        "",
        "1 of 2 cases hold",
    ]


def test_a_session_profile_that_does_not_cover_it(file: Path, terminal: Terminal) -> None:
    scoped = ALLOWED + "scope = \"activity.resource == 'POLICY'\"\n"
    file.write_text(POLICIES + USERS + scoped + scoped.replace('"allow"', '"deny"').replace("makes one", "may not"))
    printed = terminal.run("policy", "test", str(file))
    assert printed.code == 1
    assert printed.out.splitlines() == [
        "✗ Ana makes one → deny: the session's profile does not cover it; expected allow",
        "    no policy was evaluated",
        "✓ Ana may not → deny: the session's profile does not cover it",
        "",
        "1 of 2 cases hold",
    ]


def test_the_wrong_policy_decides(file: Path, terminal: Terminal) -> None:
    other = '[[policies]]\npolicyName = "Nobody"\neffect = "EFFECT_ALLOW"\nconsensus = "false"\n'
    file.write_text(other + POLICIES + USERS + ALLOWED + 'by = "Nobody"\n')
    printed = terminal.run("policy", "test", str(file))
    assert printed.code == 1
    assert "; expected allow by 'Nobody'" in printed.out


def test_an_approval_that_would_be_refused_is_told(file: Path, terminal: Terminal) -> None:
    both = "['Ana', 'Cy'].all(x, approvers.any(u, u.id == x))"
    policies = POLICIES.replace("approvers.any(u, u.id == 'Ana')", both)
    file.write_text(policies + USERS + '[[users]]\nname = "Cy"\n' + ALLOWED + 'approvals = ["Ben", "Cy"]\n')
    printed = terminal.run("policy", "test", str(file))
    assert printed.code == 0
    assert "    the approval of Ben would be refused: no open consensus counts it" in printed.out.splitlines()


UNSAFE = """
policies = [
    { policyName = "Ana", effect = "EFFECT_ALLOW" },
    { policyName = "No big ones", effect = "EFFECT_DENY", condition = "eth.tx.value > 5" },
]
"""


def test_an_unsafe_denial_is_warned_of(file: Path, terminal: Terminal) -> None:
    file.write_text(UNSAFE + USERS + ALLOWED)
    printed = terminal.run("policy", "test", str(file))
    assert (printed.code, printed.out[-18:]) == (1, "1 of 1 cases hold\n")
    assert terminal.run("policy", "test", str(file), "--allow-warnings").code == 0
    assert "keystead: WARNING  ALLOW policy 'Ana' allows every activity" in printed.err
    assert "[RAW_PAYLOAD]" in printed.err
    assert "keystead: WARNING  DENY policy 'No big ones': it denies nothing where eth.tx is absent" in printed.err


def test_what_a_case_leaves_out_is_unknown(file: Path, terminal: Terminal) -> None:
    case = ALLOWED.replace("CREATE_WALLET", "SIGN_TRANSACTION_V2") + "resources.eth.tx.to = '0xab'\n"
    file.write_text(UNSAFE + USERS + case)
    printed = terminal.run("policy", "test", str(file))
    assert printed.code == 1
    assert "→ deny: a policy denies ('No big ones'); expected allow" in printed.out
    assert "may apply: in its condition, eth.tx.value is absent (line 1, column 8)" in printed.out


def test_json(file: Path, terminal: Terminal) -> None:
    file.write_text(UNSAFE + USERS + ALLOWED + 'by = "Ana"\n')
    (told,) = json.loads(terminal.run("policy", "test", str(file), "--json").out)
    policies = told.pop("policyEvaluations")
    assert told == {
        "name": "Ana makes one",
        "holds": True,
        "expected": "allow",
        "expectedBy": "Ana",
        "outcome": "allow",
        "verdict": "allow",
        "rule": "a policy allows",
    }
    assert [each["outcome"] for each in policies] == ["OUTCOME_ALLOW", "OUTCOME_ERROR"]


CONSENSUS = "approvers.any(u, u.id == 'Ana')"
POLICY = {"policyName": "P", "effect": "EFFECT_ALLOW", "consensus": CONSENSUS, "notes": "for people"}


@pytest.mark.parametrize(
    ("files", "policies"),
    [
        ({"p.json": json.dumps(POLICY)}, '"p.json"'),
        ({"p.toml": f'policyName = "P"\neffect = "EFFECT_ALLOW"\nconsensus = "{CONSENSUS}"'}, '"p.toml"'),
        ({"folder/p.json": json.dumps(POLICY), "folder/README.md": "not a policy"}, '"folder"'),
        ({"folder/p.json": json.dumps([POLICY])}, '"folder/"'),
        ({"folder/p.json": json.dumps({"policies": [POLICY]})}, '["folder/p.json"]'),
        ({"p.json": json.dumps(POLICY)}, '"."'),
        (
            {"p.json": json.dumps(POLICY | {"policyName": "Q"})},
            f'["p.json", {{policyName = "P", effect = "EFFECT_ALLOW", consensus = "{CONSENSUS}"}}]',
        ),
    ],
    ids=["json", "toml", "folder", "list", "as create_policies", "the folder of the cases", "path and policy"],
)
def test_where_policies_are(
    files: dict[str, str], policies: str, file: Path, tmp_path: Path, terminal: Terminal
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    file.write_text(f"policies = {policies}\n{USERS}{ALLOWED}by = 'P'\n")
    assert terminal.run("policy", "test", str(file)).code == 0


def test_a_file_of_cases_in_json(tmp_path: Path, terminal: Terminal) -> None:
    case = {"name": "c", "who": "Ana", "type": "ACTIVITY_TYPE_CREATE_WALLET", "expect": "allow"}
    cases = {"policies": [POLICY], "users": [{"name": "Ana"}], "at": "2026-09-01T06:00:00+02:00", "cases": [case]}
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    assert terminal.run("policy", "test", str(tmp_path / "cases.json")).code == 0


MALFORMED: list[tuple[str, str, str]] = [
    ("not TOML", "policies = ", "cases.toml: not TOML: "),
    (
        "no policies",
        USERS + ALLOWED,
        "cases.toml: it names no `policies`; to try those of the organization, add --live",
    ),
    ("no cases", POLICIES + USERS, "cases.toml: 'cases' is missing"),
    (
        "an empty list of cases",
        "cases = []" + POLICIES + USERS,
        "cases.toml.cases: expected `array` of length >= 1",
    ),
    (
        "a misspelt member",
        "user = []" + POLICIES + ALLOWED,
        "cases.toml: there is no 'user' here, only cases, pol",
    ),
    ("no such file", 'policies = "none.toml"' + USERS + ALLOWED, "none.toml: No such file or directory"),
    ("an empty folder", 'policies = "empty"' + USERS + ALLOWED, "empty: no file *.toml or *.json in this folder"),
    ("another type", "cases = 5" + POLICIES + USERS, "cases.toml.cases: expected `array`, got `int`"),
    ("nobody", POLICIES + ALLOWED, "cases.toml, case 1 (Ana makes one).who: no user is called 'Ana'"),
    (
        "an expression",
        POLICIES.replace("u.id ==", "u.name ==") + USERS + ALLOWED,
        "cases.toml, policy 1: invalid policy",
    ),
]


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_malformed(text: str, message: str, file: Path, tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "empty").mkdir()
    file.write_text(text)
    printed = terminal.run("policy", "test", str(file))
    assert (printed.code, printed.out) == (2, "")
    assert message in printed.err
    assert printed.err.startswith("keystead: ")
    assert printed.err.count("\n") == 1


SEVERAL = [
    (
        "of files, policies and users",
        'policies = ["none.toml", "one.toml", "two.toml"]' + USERS + "[[users]]\nnam = 'Eve'" + ALLOWED,
        [
            "none.toml: No such file or directory",
            "one.toml: not TOML: ",
            "two.toml, policy 1: invalid policy",
            "two.toml, policy 2: there is no 'nam' here",
            "cases.toml, user 3: ",
        ],
    ),
    (
        "of cases",
        POLICIES + USERS + ALLOWED + ALLOWED.replace("Ana", "Eve") + ALLOWED.replace("Ana", "Bob"),
        [
            "cases.toml, case 2 (Eve makes one).who: no user is called 'Eve'",
            "cases.toml, case 3 (Bob makes one).who: no user is called 'Bob'",
        ],
    ),
]


@pytest.mark.parametrize(("text", "messages"), [row[1:] for row in SEVERAL], ids=[row[0] for row in SEVERAL])
def test_every_problem_is_told(
    text: str, messages: list[str], file: Path, tmp_path: Path, terminal: Terminal
) -> None:
    (tmp_path / "one.toml").write_text("policies = ")
    wrong = [POLICIES.replace("u.id ==", "u.name =="), "[[policies]]\nnam = 'Eve'\n"]
    (tmp_path / "two.toml").write_text("\n".join(wrong))
    file.write_text(text)
    printed = terminal.run("policy", "test", str(file))
    assert (printed.code, printed.out) == (2, "")
    lines = printed.err.splitlines()
    assert len(lines) == len(messages)
    for line, message in zip(lines, messages, strict=True):
        assert message in line


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000], ids=["no UTF-8", "nested"])
@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_bytes_that_cannot_be_decoded(suffix: str, content: bytes, tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / f"cases.{suffix}").write_bytes(content)
    assert terminal.run("policy", "test", str(tmp_path / f"cases.{suffix}")).code == 2


def test_no_file(terminal: Terminal) -> None:
    assert terminal.run("policy", "test", "none.toml").code == 2


ANA, BEN, ROOT = user("Ana", "OPS"), user("Ben"), user("Root")
OPS = policy("Operators", Effect.ALLOW, "", "approvers.any(u, u.tags.contains('OPS'))")
ROOT_ONLY = ALLOWED.replace("Ana", "Root").replace("CREATE_WALLET", "UPDATE_ORGANIZATION_NAME")

LIVE: list[tuple[str, str, int, str]] = [
    ("everything of the organization", ALLOWED + 'by = "Operators"', 0, ""),
    ("its root quorum", ROOT_ONLY, 0, "enough members of the root quorum approve"),
    ("policies of the file", POLICIES.replace("'Ana'", "'id of Ben'") + DENIED + 'by = "Ana makes wallets"', 0, ""),
    ("users of the file, and no quorum of theirs", USERS + ALLOWED, 1, "deny: nothing allows it"),
    ("quorum of the file", 'root_quorum = { users = ["Ana"] }' + ALLOWED, 0, "root quorum"),
    ("by id", ALLOWED.replace('who = "Ana"', 'who = "id of Ana"'), 0, ""),
]


@pytest.mark.parametrize(("text", "code", "line"), [row[1:] for row in LIVE], ids=[row[0] for row in LIVE])
def test_live(text: str, code: int, line: str, file: Path, fake: FakeServer, terminal: Terminal) -> None:
    fake.organization([ANA, BEN, ROOT], [OPS], ROOT.user_id)
    file.write_text(text)
    printed = terminal.run("policy", "test", str(file), "--live")
    assert printed.code == code, printed
    assert line in printed.out
    assert all(path.startswith("query/") for path, _ in fake.asked)


def test_a_live_policy_that_can_no_longer_be_read_fails(file: Path, fake: FakeServer, terminal: Terminal) -> None:
    fake.organization([ANA, BEN], [policy("Old", Effect.ALLOW, "activity.gone == 1")])
    file.write_text(ALLOWED)
    printed = terminal.run("policy", "test", str(file), "--live")
    assert printed.code == 1
    assert "field does not exist: activity.gone" in printed.out


def test_without_live_no_server_is_asked(file: Path, fake: FakeServer, terminal: Terminal) -> None:
    file.write_text(POLICIES + USERS + ALLOWED)
    assert terminal.run("policy", "test", str(file)).code == 0
    assert fake.asked == []


def test_a_server_that_refuses(file: Path, fake: FakeServer, terminal: Terminal) -> None:
    fake.answers["query/get_organization_configs"] = refused(401, "who are you")
    file.write_text(ALLOWED)
    printed = terminal.run("policy", "test", str(file), "--live")
    assert printed.code == 1
    assert "who are you" in printed.err


CAREFUL = """
[[policies]]
policyName = "Careful"
effect = "EFFECT_ALLOW"
consensus = "approvers.count() >= 2"
"""
LINTED = (
    CAREFUL
    + """
[[policies]]
policyName = "Everything"
effect = "EFFECT_ALLOW"
"""
)
EVERYTHING = "ALLOW policy 'Everything' allows every activity to every user: give it a condition or a consensus"


def test_lint_of_files(tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "policies.toml").write_text(LINTED)
    printed = terminal.run("policy", "lint", str(tmp_path))
    assert (printed.code, printed.out, printed.err) == (1, f"{EVERYTHING} [ALLOWS_EVERYTHING]\n", "")
    (warning,) = json.loads(terminal.run("policy", "lint", str(tmp_path / "policies.toml"), "--json").out)
    assert (warning["code"], warning["message"]) == ("ALLOWS_EVERYTHING", EVERYTHING)
    (tmp_path / "policies.toml").write_text(CAREFUL)
    clean = terminal.run("policy", "lint", str(tmp_path))
    assert (clean.code, clean.out) == (0, "No warnings.\n")
    assert json.loads(terminal.run("policy", "lint", str(tmp_path), "--json").out) == []
    (tmp_path / "policies.toml").write_text("policies = ")
    assert terminal.run("policy", "lint", str(tmp_path)).code == 2


def test_lint_of_files_names_what_can_be_no_id(tmp_path: Path, terminal: Terminal) -> None:
    (tmp_path / "policies.toml").write_text(CAREFUL.replace(".count() >= 2", ".any(u, u.id == 'Ben')"))
    printed = terminal.run("policy", "lint", str(tmp_path))
    assert printed.code == 1
    assert "no user has this id: ids are UUIDs in lower case [IMPOSSIBLE_LITERAL]" in printed.out


def test_lint_of_the_organization(fake: FakeServer, terminal: Terminal) -> None:
    answer = {"policyId": "1", "policyName": "Everything", "code": "ALLOWS_EVERYTHING", "message": EVERYTHING}
    fake.answers["query/list_policy_warnings"] = {"policyWarnings": [answer]}
    printed = terminal.run("policy", "lint")
    assert (printed.code, printed.out) == (1, f"{EVERYTHING} [ALLOWS_EVERYTHING]\n")
    fake.answers["query/list_policy_warnings"] = {"policyWarnings": []}
    assert terminal.run("policy", "lint").code == 0
