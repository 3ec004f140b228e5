"""`keystead activities` and `keystead show`: who, what, to whom, how much; filters and pages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.cli.columns import RED, Column, coloured, id_column, table, terminal_width, width_of
from tests.describe.test_signing import TO, TOKEN, ethereum
from tests.support.terminal import FakeServer, Terminal, activity, user, vote

ANA = user("Ana")
WALLET = "01a1ffce-afbf-7700-92ee-0000000000aa"


def id_of(number: int) -> str:
    """UUIDv7: of the second with this number after the first activity."""
    milliseconds = f"{1_788_220_800_000 + number * 1_000:012x}"
    return f"{milliseconds[:8]}-{milliseconds[8:]}-7000-8000-{number:012x}"


def sending(number: int, value: int = 10**18, **members: Any) -> dict[str, Any]:
    intent = {
        "signWith": TOKEN,
        "unsignedTransaction": ethereum(to=TO, value=value),
        "type": "TRANSACTION_TYPE_ETHEREUM",
    }
    return activity(
        members.pop("status", "COMPLETED"),
        vote(ANA),
        activity_id=id_of(number),
        kind="SIGN_TRANSACTION_V2",
        intent={"signTransactionIntentV2": intent},
        **members,
    )


@pytest.fixture
def listed(fake: FakeServer) -> FakeServer:
    held = [sending(number) for number in range(250)][::-1]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        options = body["paginationOptions"]
        rest = [each for each in held if each["id"] < options.get("after", "~")]
        return {"activities": rest[: int(options["limit"])]}

    fake.answers["query/list_activities"] = answer
    return fake


def test_says_who_what_to_whom_how_much(listed: FakeServer, terminal: Terminal) -> None:
    header, first, *rest = terminal.run("activities").out.splitlines()
    assert header.split() == [
        "activity", "asked", "by", "what", "to", "amount", "status", "votes", "type", "fingerprint",
    ]  # fmt: skip
    assert first.split()[0] == id_of(249)
    assert first.split()[3:9] == ["Ana", "send", TO, "1", "ETH", "COMPLETED"]
    assert len(rest) == 19


@pytest.mark.parametrize(
    ("arguments", "first", "count", "next_page"),
    [
        ((), 249, 20, True),
        (("--limit", "150"), 249, 150, True),
        (("--limit", "1000"), 249, 250, False),
        (("--after", id_of(100), "--limit", "5"), 99, 5, True),
        (("--since", "2026-09-01T00:02:00Z"), 249, 130, False),
        (("--since", "2026-09-01T00:02:00Z", "--limit", "3"), 249, 3, True),
        (("--since", "2026-09-01"), 249, 250, False),
    ],
)
def test_pages(
    arguments: tuple[str, ...], first: int, count: int, next_page: bool, listed: FakeServer, terminal: Terminal
) -> None:
    printed = terminal.run("activities", "--json", *arguments)
    ids = [each["id"] for each in json.loads(printed.out)]
    assert (ids[0], len(ids)) == (id_of(first), count)
    assert printed.err == (f"older ones: keystead activities --after {ids[-1]}\n" if next_page else "")


def test_filters(listed: FakeServer, terminal: Terminal) -> None:
    terminal.run(
        "activities", "--status", "consensus-needed", "--status", "ACTIVITY_STATUS_FAILED", "--type", "create_users"
    )
    asked = listed.asked[0][1]
    assert asked["filterByStatus"] == ["ACTIVITY_STATUS_CONSENSUS_NEEDED", "ACTIVITY_STATUS_FAILED"]
    assert asked["filterByType"][:2] == ["ACTIVITY_TYPE_CREATE_USERS", "ACTIVITY_TYPE_CREATE_USERS_V2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--status", "complete"), "'complete' is unknown: did you mean COMPLETED?"),
        (("--type", "create_walet"), "'create_walet' is unknown: did you mean CREATE_WALLET?"),
        (("--status", "foo"), "'foo' is unknown: expected CREATED or PENDING or COMPLETED or"),
        (("--type", "foo"), "'foo' is unknown: expected the name of an operation that submits an activity"),
        (("--since", "yesterday"), "'yesterday': expected an age such as 30m, 12h or 7d"),
        (("--follow", "--since", "1h"), "--follow shows every activity"),
    ],
)
def test_refused(arguments: tuple[str, ...], message: str, fake: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("activities", *arguments)
    assert printed.code == 2
    assert message in " ".join(printed.err.split())
    assert not fake.asked


def test_names_are_asked_for_only_where_ids_are_shown(listed: FakeServer, terminal: Terminal) -> None:
    terminal.run("activities")
    assert {path for path, _ in listed.asked} == {"query/list_activities"}


def test_show(fake: FakeServer, terminal: Terminal) -> None:
    asked = activity(
        "CONSENSUS_NEEDED",
        vote(ANA),
        kind="EXPORT_WALLET",
        intent={"exportWalletIntent": {"walletId": WALLET, "targetPublicKey": "04ab"}},
    )
    fake.organization([ANA], [], ANA.user_id)
    fake.answers["query/get_activity"] = {"activity": asked}
    fake.answers["query/list_wallets"] = {"wallets": [{"walletId": WALLET, "walletName": "Treasury\x1b"}]}
    printed = terminal.run("show", asked["id"])
    assert printed.code == 0
    lines = printed.out.splitlines()
    assert lines[0] == f"Export the mnemonic of the wallet 'Treasury\\x1b' ({WALLET})"
    assert lines[1:3] == [
        f"  of            'Treasury\\x1b' ({WALLET})",
        "  encrypted to  the key 04ab",
    ]
    assert lines[3].startswith("  CAUTION  the holder of the private half of that key")
    assert "votes        Ana asked" in lines


def test_show_as_json(fake: FakeServer, terminal: Terminal) -> None:
    fake.answers["query/get_activity"] = {"activity": sending(1)}
    told = json.loads(terminal.run("show", id_of(1), "--json").out)
    assert told["description"]["headline"] == f"Send 1 ETH to {TO}, on Ethereum (chain 1)"
    assert (told["activity"]["id"], told["waitsFor"]) == (id_of(1), [])


LONG = "a name that is much too long for one line of a terminal " * 3
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "wallets": ("list_wallets", {"walletId": WALLET, "walletName": LONG, "exported": True, "imported": False}),
    "users": (
        "list_users",
        {
            "userId": WALLET,
            "userName": LONG,
            "userEmail": LONG,
            "apiKeys": [],
            "authenticators": [],
            "oauthProviders": [],
        },
    ),
    "interfaces": (
        "list_smart_contract_interfaces",
        {
            "smartContractInterfaceId": WALLET,
            "label": LONG,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA",
            "smartContractAddress": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
            "smartContractInterface": "{}",
        },
    ),
    "policy": (
        "list_policies",
        {"policyId": WALLET, "policyName": LONG, "effect": "EFFECT_ALLOW", "consensus": LONG, "condition": LONG},
    ),
}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are printed on a terminal of 80 columns."""
    monkeypatch.setattr("keystead.cli.tables.terminal_width", lambda: 80)


@pytest.mark.parametrize(("is_terminal", "width"), [(True, 80), (False, None)])
def test_the_width_of_the_terminal(is_terminal: bool, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    assert terminal_width() == width


def test_activities_fit_80_columns(narrow: None, listed: FakeServer, terminal: Terminal) -> None:
    lines = terminal.run("activities").out.splitlines()
    assert lines[0].split() == ["activity", "asked", "by", "what", "to", "amount", "status"]
    assert lines[1].split()[3:] == ["Ana", "send", "0x7099…79C8", "1", "ETH", "completed"]
    assert max(map(width_of, lines)) <= 80


@pytest.mark.parametrize("command", LISTS)
def test_every_list_fits_80_columns(command: str, narrow: None, fake: FakeServer, terminal: Terminal) -> None:
    query, record = LISTS[command]
    member = {"list_smart_contract_interfaces": "smartContractInterfaces"}.get(query, query.removeprefix("list_"))
    fake.answers[f"query/{query}"] = {member: [{**record, "createdAt": {"seconds": "0", "nanos": "0"}}]}
    printed = terminal.run(*(("policy", "list") if command == "policy" else (command,)))
    assert (printed.code, len(printed.out.splitlines())) == (0, 2)
    assert max(map(width_of, printed.out.splitlines())) <= 80


COLUMNS = (
    id_column("id", lambda record: record["id"]),
    Column(name="text", cell=lambda record: record["text"], cut=True),
    Column(name="more", cell=lambda record: record["more"], optional=1),
    Column(name="most", cell=lambda record: record["more"], optional=2),
)
ROW = {"id": "01a1ffce-afbf-7700-92ee-0000000000aa", "text": "a text of thirty characters ..", "more": "m" * 10}


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (None, f"{ROW['id']}  {ROW['text']}  {ROW['more']}  {ROW['more']}"),
        (92, f"{ROW['id']}  {ROW['text']}  {ROW['more']}  {ROW['more']}"),
        (91, f"0000000000aa  {ROW['text']}  {ROW['more']}  {ROW['more']}"),
        (67, f"0000000000aa  {ROW['text']}  {ROW['more']}"),
        (55, f"0000000000aa  {ROW['text']}"),
        (43, "0000000000aa  a text of thirty characters …"),
        (10, "0000000000aa  a text of t…"),
    ],
)
def test_a_table_fits(width: int | None, line: str) -> None:
    _, row = table([ROW], COLUMNS, width)
    assert row == line
    assert width is None or width < 26 or width_of(row) <= width


@pytest.mark.parametrize(
    ("environment", "colours"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_on_a_terminal(environment: dict[str, str], colours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert (coloured("word", RED) == "\x1b[31mword\x1b[0m") is colours


def test_no_colours_where_a_program_reads() -> None:
    assert coloured("word", RED) == "word"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("…", 1)])
def test_width_on_a_terminal(text: str, width: int) -> None:
    assert width_of(text) == width
