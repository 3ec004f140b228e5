"""The command line as a whole: help, version, completion, what it loads, how it refuses wrong usage."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
import typer

from keystead import generate_api_key
from keystead.cli.credentials import FILE_VARIABLE, chosen_credentials
from keystead.cli.failure import Failure
from keystead.cli.main import COMMANDS
from keystead.client.credentials import ENVIRONMENT
from keystead.storage.migrations import newest
from tests.support.terminal import FakeServer, Terminal

COLUMNS = 80


def every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for name, command in COMMANDS.items():
        found.append((name,))
        made = _made(command.place)
        if isinstance(made, typer.Typer):
            found += [(name, str(each.name)) for each in made.registered_commands]
    return found


def _made(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(f"keystead.cli.{module}"), name)


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_help(command: tuple[str, ...], option: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    printed = terminal.run(*command, option)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith(f"Usage: {' '.join(('keystead', *command))} ")
    # One style: plain text, arguments in capitals.
    assert "╭" not in printed.out
    arguments = printed.out.splitlines()[0].partition("[OPTIONS]")[2]
    assert arguments == arguments.upper()
    assert max(map(len, printed.out.splitlines())) <= COLUMNS
    assert not re.search(r"<\w|\{\w+\}|list\[|\bstr\b|\.\.\.$", printed.out.partition("\n")[2], re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    made, line = _made(COMMANDS[name].place), COMMANDS[name].help
    its_own = made.info.help if isinstance(made, typer.Typer) else made.__doc__
    assert str(its_own).startswith(line.rstrip("."))
    assert len(line) <= COLUMNS - 6 - max(map(len, COMMANDS)), "it would be cut"


@pytest.mark.parametrize("arguments", [["--help"], ["no-such-command"], ["completion", "bash"]])
def test_loads_no_server_and_no_client(arguments: list[str]) -> None:
    heavy = ["asyncpg", "cryptography", "httpx", "httptools", "rich", "webauthn"]
    heavy += [f"keystead.{each}" for each in ("client", "describe", "operations", "policies", "server", "signer")]
    code = (
        "import sys\n"
        "from keystead.cli.main import main\n"
        f"sys.argv = ['keystead', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('loaded', *[each for each in {heavy!r} if each in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == "loaded"


def test_version(terminal: Terminal) -> None:
    printed = terminal.run("--version")
    assert printed.code == 0
    assert printed.out.startswith(
        f"keystead {version('keystead')}, public API 1.0, database tables {newest()}, Python "
    )


INIT = ["init", "--database-url", "sqlite:////nowhere/new.db", "--organization-name", "x"]
INIT += ["--master-key-file", "/nowhere/key", "--credentials", "/nowhere/root.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["aprove"], "No such command 'aprove'. Did you mean 'approve'"),
        (["policy", "aply"], "No such command 'aply'. Did you mean 'apply'?"),
        (["dev", "--port", "99999"], "less than or equal to 65535"),
        (["serve", "--port", "-1"], "greater than or equal to 0"),
        (["request", "query/list_walets"], "unknown operation query/list_walets: did you mean query/list_wallets?"),
        (
            ["request", "submit/create_walet"],
            "unknown operation submit/create_walet: did you mean submit/create_wallet?",
        ),
        (["request", "submit/list_wallets"], "submit/list_wallets: list_wallets is a query: query/list_wallets"),
        (
            ["request", "query/create_wallet"],
            "operation query/create_wallet: create_wallet is a submission: submit/create_wallet",
        ),
        (["request", "query/list_policy_warning"], ": did you mean query/list_policy_warnings?"),
        (
            ["request", "submit/create_fiat_on_ramp_credential"],
            "the activity type of submit/create_fiat_on_ramp_credential is not known here: add `type` to the body",
        ),
        (["request", "list_walets"], "unknown operation list_walets: did you mean list_wallets?"),
        (["completion", "csh"], "'SHELL': 'csh' is unknown: did you mean zsh?"),
        (["completion", "bsh"], "'SHELL': 'bsh' is unknown: did you mean bash?"),
        (["env", "--format", "foo"], "'--format': 'foo' is unknown: expected dotenv or json or shell or tkcli"),
        (["env", "--format", "jsn"], "'--format': 'jsn' is unknown: did you mean json?"),
        (
            [*INIT, "--base-url", "nonsense"],
            "Invalid value for --base-url: expected a URL such as http://localhost",
        ),
        ([*INIT, "--base-url", "http://me:pw@host"], "Invalid value for --base-url: expected a URL without user"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, fake: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert message in " ".join(printed.err.split())
    assert not fake.asked


def test_an_operation_of_keystead_alone_by_its_name(fake: FakeServer, terminal: Terminal) -> None:
    fake.answers["query/list_policy_warnings"] = {"policyWarnings": []}
    assert terminal.run("request", "list_policy_warnings").code == 0


def test_an_operation_that_only_the_server_knows(fake: FakeServer, terminal: Terminal) -> None:
    fake.answers["submit/create_something_newer"] = {"activity": {}}
    body = {"type": "ACTIVITY_TYPE_CREATE_SOMETHING_NEWER", "parameters": {}}
    assert terminal.run("request", "submit/create_something_newer", json.dumps(body)).code == 0


SETTINGS = {
    "base_url": "http://file.test",
    "organization_id": "o",
    "user_id": "u",
    "api_public_key": "02",
    "api_private_key": "03",
}


@pytest.fixture
def credentials_file(tmp_path: Path) -> Path:
    (tmp_path / "file.json").write_text(json.dumps(camel(SETTINGS)))
    return tmp_path / "file.json"


def camel(settings: dict[str, str]) -> dict[str, str]:
    return {"".join([n.split("_")[0], *(w.title() for w in n.split("_")[1:])]): v for n, v in settings.items()}


OTHER = {ENVIRONMENT["base_url"]: "http://other.test"}
ALL = {variable: f"{name}.test" for name, variable in ENVIRONMENT.items()}


@pytest.mark.parametrize(
    ("is_given", "variables", "base_url"),
    [
        (False, {}, "http://file.test"),
        (False, OTHER, "http://other.test"),
        (True, {}, "http://file.test"),
        (True, OTHER, "http://other.test"),
        (False, ALL, "base_url.test"),
        (True, ALL, "http://file.test"),
    ],
)
def test_where_credentials_come_from(
    is_given: bool, variables: dict[str, str], base_url: str, credentials_file: Path
) -> None:
    environment = {**variables, FILE_VARIABLE: str(credentials_file)}
    assert chosen_credentials(credentials_file if is_given else None, environment).base_url == base_url


PAIR = generate_api_key(seed=b"a key in a file")
IN_FILE = {**SETTINGS, "api_public_key": PAIR.public_key, "api_private_key": PAIR.private_key}
OF_ANOTHER_SERVER = (
    "(HTTP 404, code 5, ORGANIZATION_NOT_FOUND); do the address http://file.test and the key in {} belong together?"
)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, f"no organization found with the given ID: o {OF_ANOTHER_SERVER}"),
        ({"base_url": "nonsense"}, "credentials file {}: base_url: expected a URL such as"),
        ({"api_private_key": "zz"}, "credentials file {}: the private key is not hex"),
        (None, "credentials file {} is not JSON"),
    ],
)
def test_an_invalid_credentials_file_is_refused(
    changed: dict[str, str] | None,
    message: str,
    fake: FakeServer,
    terminal: Terminal,
    credentials_file: Path,
) -> None:
    credentials_file.write_text("" if changed is None else json.dumps(camel(IN_FILE | changed)))
    unknown = {"code": 5, "message": "no organization found with the given ID: o"}
    fake.answers["query/list_wallets"] = httpx.Response(
        404, json=unknown | {"turnkeyErrorCode": "ORGANIZATION_NOT_FOUND"}
    )
    printed = terminal.run("request", "list_wallets", "--credentials", str(credentials_file))
    assert (printed.code, printed.out) == (1, "")
    assert message.format(credentials_file) in printed.err
    assert PAIR.private_key not in printed.err


def test_an_invalid_variable_is_refused(credentials_file: Path) -> None:
    with pytest.raises(Failure, match="KEYSTEAD_BASE_URL: base_url: expected a URL"):
        chosen_credentials(credentials_file, {ENVIRONMENT["base_url"]: "nonsense"})


def test_variables_that_are_incomplete(credentials_file: Path) -> None:
    environment = {FILE_VARIABLE: str(credentials_file), ENVIRONMENT["organization_id"]: "o"}
    with pytest.raises(Failure, match="KEYSTEAD_"):
        chosen_credentials(None, environment)
