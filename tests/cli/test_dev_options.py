"""`keystead dev`: in memory, with credentials in a file, seeded, with a log for people."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import re
import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import httpx
import msgspec
import pytest

from keystead import Client
from keystead.api.enums import AddressFormat, Curve, HashFunction, PathFormat, PayloadEncoding
from keystead.cli.development.development import dev as dev_command
from keystead.cli.development.folder import DevelopmentFolder
from keystead.cli.development.memory_folder import memory_folder
from keystead.cli.operator.serving import serve
from keystead.client.credentials import credentials_in
from keystead.client.errors import ApiError, NotFound
from keystead.client.shapes import WalletAccountParams
from keystead.server.development.published import is_published
from keystead.server.settings.settings import OF_DATA, AllSettings, SettingsError, differences, variable_of
from keystead.stamps.signing import generate_api_key
from tests.support.commands import run_keystead
from tests.support.dev_servers import Started, dev
from tests.support.hanging import PATIENCE_S
from tests.support.terminal import Terminal

ACCOUNT = WalletAccountParams(
    curve=Curve.SECP256K1,
    path_format=PathFormat.BIP32,
    path="m/44'/60'/0'/0/0",
    address_format=AddressFormat.ETHEREUM,
)


def made_addresses(started: Started) -> list[str]:
    """The identifiers and addresses of two wallets that are made now."""
    with Client.from_credentials(started.credentials) as client:
        made = [client.create_wallet(wallet_name=name, accounts=[ACCOUNT]) for name in ("one", "two")]
        return [text for one in made for text in (one.wallet_id, one.activity.id, *one.addresses)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left_of_what_was_in_memory(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory") as started:
        descriptors = Path(f"/proc/{started.process.pid}/fd").iterdir()
        (lock,) = [Path(target) for target in map(os.readlink, descriptors) if target.endswith("/lock")]
        assert (lock.parent / "keystead.db").exists()
        assert started.credentials.stat().st_mode & 0o77 == 0
        made_addresses(started)
        assert started.stop() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert not lock.parent.exists()


@pytest.mark.parametrize("is_running", [True, False])
def test_the_folder_of_a_killed_server_is_removed_by_the_next(is_running: bool) -> None:
    with memory_folder() as mine:
        lock = os.open(mine / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if is_running:
            fcntl.flock(lock, fcntl.LOCK_EX)
        with memory_folder():
            assert mine.exists() == is_running
        os.close(lock)


def test_a_seed_makes_later_wallets_the_same(tmp_path: Path) -> None:
    """From run to run in memory; in a folder no start repeats what an earlier one made."""
    made = []
    for number, options in enumerate([["--memory"], ["--memory"], ["--data", "data"]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with dev(folder, "--seed", "one text", *options) as started:
            made.append(made_addresses(started))
    assert made[0] == made[1] == made[2]
    with (
        dev(folder, "--seed", "one text", "--data", "data") as started,
        Client.from_credentials(started.credentials) as client,
    ):
        again = [client.create_wallet(wallet_name=name, accounts=[ACCOUNT]) for name in ("three", "four")]
        assert set(made[2]).isdisjoint([text for one in again for text in (one.wallet_id, *one.addresses)])
        assert len(client.list_wallets().wallets) == 5
        ids = [activity.id for activity in client.list_activities().activities]
        assert ids == sorted(ids, reverse=True)
    with dev(tmp_path, "--seed", "another text", "--memory") as started:
        assert set(made_addresses(started)).isdisjoint(made[0])


def own_keys(started: Started) -> tuple[str, ...]:
    """What the first organization is known by: its ids, its key, its proxy, its addresses, the key of bundles."""
    credentials = credentials_in(started.credentials)
    signer = httpx.get(f"{credentials.base_url}/bundle-signer", timeout=PATIENCE_S).json()["signingPublicKey"]
    assert credentials.user_id is not None and credentials.auth_proxy_id is not None
    with Client.from_credentials(started.credentials) as client:
        (proxy,) = client.list_auth_proxy_configs().auth_proxy_configs
        assert proxy.config_id == credentials.auth_proxy_id
        wallet = client.list_wallets().wallets[0]
    return (
        credentials.organization_id,
        credentials.user_id,
        credentials.api_private_key,
        credentials.auth_proxy_id,
        wallet.wallet_id,
        signer,
    )


def test_without_an_option_everything_is_the_same_on_every_machine(tmp_path: Path) -> None:
    """Only of the first organization: what is made later is secret, as on any server."""
    made = []
    for number, options in enumerate([["--memory"], ["--data", "data"], ["--memory", "--fresh"]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with dev(folder, *options) as started:
            made.append((own_keys(started), set(made_addresses(started))))
    assert made[0][0] == made[1][0]
    assert set(made[0][0]).isdisjoint(made[2][0])
    assert made[0][1].isdisjoint(made[1][1])
    with dev(tmp_path / "1", "--data", "data") as started:
        assert own_keys(started) == made[0][0]


@pytest.mark.parametrize("options", [["--fresh"], ["--host", "0.0.0.0", "--allow-remote"]])
def test_published_keys_are_refused_where_others_are_meant(
    terminal: Terminal, tmp_path: Path, options: list[str]
) -> None:
    with DevelopmentFolder(tmp_path / "data") as folder:
        folder.prepare("", is_private=False)
    printed = terminal.run("dev", "--port", "0", "--data", str(tmp_path / "data"), *options)
    assert (printed.code, "has the published keys" in printed.err) == (1, True)


def test_a_server_that_others_reach_has_keys_of_its_own(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory", "--host", "0.0.0.0", "--allow-remote") as started:
        assert not is_published(credentials_in(started.credentials).api_public_key)
        assert "They are published" not in started.log.read_text()


def test_another_link_to_the_console(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory") as started:
        told = [run_keystead("console", "--credentials", started.credentials).stdout.strip() for _ in range(2)]
        started.wait_for("#login=")
        links = {*told, *re.findall(r"\S+#login=\S+", started.log.read_text())}
        assert len(links) == 3
        for link in links:
            base_url, _, secret = link.partition("/console/#login=")
            login = {"secret": secret, "publicKey": generate_api_key().public_key}
            answers = [
                httpx.post(f"{base_url}/dev/v1/console-login", json=login, timeout=PATIENCE_S).status_code
                for _ in range(2)
            ]
            assert answers == [200, 403], link


def test_the_banner_begins_with_what_a_person_needs(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory") as started:
        started.wait_for("First request:")
        lines = started.log.read_text().partition("First request:")[0].strip().splitlines()
    assert lines[0] == f"Keystead {lines[0].split()[1]}"
    assert lines[2].split()[0] == "console"
    assert max(map(len, lines)) <= 110, "no keys in hexadecimal that nobody types"


def test_a_log_for_people(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory", "--log", "pretty") as started:
        with Client.from_credentials(started.credentials) as client:
            made = client.create_user_tag(user_tag_name="Operators", user_ids=[])
            with pytest.raises(NotFound):
                client.get_wallet(wallet_id="00000000-0000-7000-8000-000000000000")
        base_url = re.search(r"^Keystead (\S+)$", started.log.read_text(), re.MULTILINE)
        assert base_url is not None
        httpx.get(f"{base_url[1]}/%1b", trust_env=False, timeout=PATIENCE_S)
        started.stop()
        lines = [line for line in started.log.read_text().splitlines() if re.match(r"\d\d:\d\d:\d\d  \d", line)]
    times = r"\d\d:\d\d:\d\d  {}  +\d+ ms  {}"
    assert re.fullmatch(times.format(200, f"submit/create_user_tag  activity {made.activity.id}"), lines[0])
    assert re.match(times.format(404, "query/get_wallet  unable to find wallet"), lines[1])
    assert re.match(times.format(404, "GET /%1b  no such path"), lines[2])


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ([], '"level":"warning","event":"typed data with an empty domain was signed: '),
        (["--log", "pretty"], "  warning: typed data with an empty domain was signed: "),
    ],
    ids=["by default", "pretty"],
)
def test_the_log_has_warnings(options: list[str], note: str, tmp_path: Path) -> None:
    types = {"EIP712Domain": [], "Mail": [{"name": "to", "type": "string"}]}
    typed_data = {"types": types, "primaryType": "Mail", "domain": {}, "message": {"to": "Bob"}}
    with dev(tmp_path, "--memory", *options) as started:
        with Client.from_credentials(started.credentials) as client:
            client.sign_raw_payload(
                sign_with=client.create_wallet(wallet_name="W", accounts=[ACCOUNT]).addresses[0],
                payload=json.dumps(typed_data),
                encoding=PayloadEncoding.EIP712,
                hash_function=HashFunction.NO_OP,
            )
        started.stop()
        assert note in started.log.read_text()


def settings_line(printed: str) -> list[str]:
    """The settings in a banner."""
    found = re.search(r"^  settings +(.*(?:\n {16}.*)*)$", printed, re.MULTILINE)
    assert found is not None, printed
    return found[1].split()


def test_every_setting_of_serve_is_one_of_dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except those that name its data, which it refuses."""
    monkeypatch.chdir(tmp_path)
    usual = DevelopmentFolder(tmp_path).settings()
    for field in msgspec.structs.fields(AllSettings):
        name, value = variable_of(field.name), other_value(field, getattr(usual, field.name))
        if name in OF_DATA:
            with pytest.raises(SettingsError, match=f"{name} is set, but keystead dev has its database"):
                DevelopmentFolder(tmp_path).settings({name: value})
        else:
            settings = DevelopmentFolder(tmp_path).settings({name: value})
            assert differences(settings, usual) == {name: value}


def test_every_flag_of_serve_is_one_of_dev() -> None:
    """Except those that name its data."""
    flags = {
        name: set(inspect.signature(command).parameters)
        for name, command in (("serve", serve), ("dev", dev_command))
    }
    of_data = {name for name in flags["serve"] if variable_of(name) in OF_DATA}
    assert flags["serve"] - flags["dev"] == of_data


def other_value(field: msgspec.structs.FieldInfo, usual: Any) -> str:
    """A value other than the usual one."""
    kind = get_type_hints(AllSettings)[field.name]
    if get_origin(kind) is Literal:
        return str(next(word for word in get_args(kind) if word != usual))
    if kind is bool:
        return str(not usual).lower()
    return str(usual + 1) if kind is int else "another"


def test_settings_are_used_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYSTEAD_LIMIT_WALLETS", "1")
    monkeypatch.setenv("KEYSTEAD_IP_ALLOWLISTS", "false")
    with dev(tmp_path, "--memory", "--trusted-proxies", "192.0.2.0/24", "--log-level", "error") as started:
        changed = settings_line(started.log.read_text())
        assert changed == [
            "KEYSTEAD_PORT=0",
            "KEYSTEAD_LOG_LEVEL=error",
            "KEYSTEAD_TRUSTED_PROXIES=192.0.2.0/24",
            "KEYSTEAD_IP_ALLOWLISTS=false",
            "KEYSTEAD_LIMIT_WALLETS=1",
        ]
        with (
            Client.from_credentials(started.credentials) as client,
            pytest.raises(ApiError, match="wallets: 1 of 1 are in use"),
        ):
            client.create_wallet(wallet_name="the second one", accounts=[])


def test_metrics_and_messages_of_a_development_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        address = "{}:{}".format(*listening.getsockname())
    monkeypatch.setenv("KEYSTEAD_METRICS_ADDRESS", address)
    with dev(tmp_path, "--memory"):
        assert (
            "keystead_processes" in httpx.get(f"http://{address}/metrics", trust_env=False, timeout=PATIENCE_S).text
        )


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ("KEYSTEAD_WORKERZ=3", "unknown setting KEYSTEAD_WORKERZ: did you mean KEYSTEAD_WORKERS?"),
        ("KEYSTEAD_WORKERS=3", "only one process can serve a SQLite file"),
        ("KEYSTEAD_PORT=x", "setting KEYSTEAD_PORT: expected a whole number from 0 to 65535"),
        ("KEYSTEAD_HOST=192.0.2.1", "add --allow-remote"),
        ("KEYSTEAD_METRICS_ADDRESS=x", "setting KEYSTEAD_METRICS_ADDRESS: expected HOST:PORT"),
        (
            "KEYSTEAD_MASTER_KEY=x",
            "KEYSTEAD_MASTER_KEY is set, but keystead dev has its database",
        ),
        ("KEYSTEAD_CONSOLE_OIDC=x", "setting KEYSTEAD_CONSOLE_OIDC: "),
    ],
)
def test_variables_that_are_refused(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name, _, value = variable.partition("=")
    monkeypatch.setenv(name, value)
    printed = terminal.run("dev", *([] if name == "KEYSTEAD_PORT" else ["--port", "0"]))
    assert printed.code == 1
    assert why in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--memory", "--workers", "2"], "only one process can serve a SQLite file"),
        (
            ["--memory", "--tls", "--tls-cert", "x", "--tls-key", "y"],
            "--tls and KEYSTEAD_TLS_CERT: give one of them",
        ),
        (["--memory", "--data", "x"], "--memory and --data: give one of them"),
        (["--memory", "--seed", "x", "--fresh"], "--seed and --fresh: give one of them"),
        (["--memory", "--end-with-caller"], "standard input must be a pipe"),
        (["--memory", "--credentials", "there"], "this file exists already"),
        (["--host", "192.0.2.1"], "add --allow-remote"),
        (["--data", "there"], "cannot use the data folder there: it is a file, not a folder"),
        (["--data", "there/in"], "cannot use the data folder there/in: Not a directory"),
        (
            ["--memory", "--port", "{taken}"],
            "keystead: cannot listen on port {taken}: another program listens on it; choose",
        ),
    ],
)
def test_what_is_refused(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("mine")
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        taken = listening.getsockname()[1]
        printed = terminal.run("dev", *[option.format(taken=taken) for option in options])
    assert printed.code == 1
    assert why.format(taken=taken) in printed.err
    assert (tmp_path / "there").read_text() == "mine"
