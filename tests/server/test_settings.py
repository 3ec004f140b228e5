"""Settings from the environment, browser origins, and what must hold before a server may answer."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
import typer

from keystead.cli import credentials
from keystead.cli.main import app
from keystead.client import credentials as client
from keystead.keys.sealing import MasterKey
from keystead.server.http.cors import CorsPolicy
from keystead.server.http.listening import connection_limits
from keystead.server.opening import NotReady, open_checked
from keystead.server.settings.settings import (
    CLIENT_VARIABLES,
    NAMES,
    AllSettings,
    Settings,
    SettingsError,
    from_environment,
)
from tests.conftest import MakeDatabase
from tests.support.databases import Database, SqliteDatabase
from tests.support.servers import Installation, bootstrap_installation
from tests.support.source_tree import ROOT, tracked_files

URL = {"KEYSTEAD_DATABASE_URL": "sqlite:///x"}


def test_defaults() -> None:
    assert from_environment(URL) == AllSettings(database_url="sqlite:///x")


@pytest.mark.parametrize("field", msgspec.structs.fields(AllSettings), ids=lambda field: field.name)
def test_every_setting_has_a_variable(field: Any) -> None:
    name = f"KEYSTEAD_{field.name.upper()}"
    assert name in NAMES
    default = "" if field.required else field.default
    assert getattr(from_environment(URL | {name: str(default)}), field.name) == default


@pytest.mark.parametrize("name", [*CLIENT_VARIABLES, "PATH", "keystead_port"])
def test_what_others_read_is_let_be(name: str) -> None:
    assert from_environment(URL | {name: "x"}) == from_environment(URL)


OF_OTHERS = {
    "KEYSTEAD_SERVERS": "deploy/Caddyfile",
    "KEYSTEAD_SITE": "deploy/Caddyfile",
    "KEYSTEAD_SERVICE_HOST": "Kubernetes",
    "KEYSTEAD_TEST_CITUS_URL": "the tests",
}
"""Variables that are neither settings nor read by clients and commands, with who reads or sets them."""

OF_TESTS = {"tests", "tools", "bench", "fuzz"}


def test_every_variable_that_a_file_names_exists() -> None:
    """One file of variables serves `keystead init`, `keystead serve`, the client and the examples. No page names a
    setting that was removed."""
    declared = set(client.ENVIRONMENT.values()) | {client.CA_FILE, credentials.FILE_VARIABLE}
    for command in commands_in(typer.main.get_command(app)):
        declared |= {name for each in command.params for name in names_of(each.envvar)}
    assert {"KEYSTEAD_ORGANIZATION_NAME", "KEYSTEAD_DATABASE_URL"} <= declared
    for path in tracked_files():
        if path.parts[0] not in OF_TESTS:
            text = (ROOT / path).read_text(errors="replace")
            declared |= set(re.findall(r"\bKEYSTEAD_[A-Z_0-9]*[A-Z0-9](?![A-Z_0-9…*])", text))
    assert {"KEYSTEAD_AUTH_PROXY_ID", *OF_OTHERS} <= declared
    assert declared - NAMES - CLIENT_VARIABLES.keys() == OF_OTHERS.keys()


def commands_in(command: Any) -> Iterator[Any]:
    """The command and, of a group, those in it: as they are when they are called, with their options."""
    yield command
    for name in getattr(command, "commands", ()):
        yield from commands_in(command.get_command(None, name))


def names_of(envvar: str | Sequence[str] | None) -> Sequence[str]:
    return [envvar] if isinstance(envvar, str) else envvar or ()


KUBERNETES = {
    "KEYSTEAD_PORT": "tcp://10.0.0.7:8080",
    "KEYSTEAD_SERVICE_HOST": "10.0.0.7",
    "KEYSTEAD_SERVICE_PORT": "8080",
    "KEYSTEAD_SERVICE_PORT_HTTP": "8080",
    "KEYSTEAD_PORT_8080_TCP": "tcp://10.0.0.7:8080",
    "KEYSTEAD_PORT_8080_TCP_PROTO": "tcp",
    "KEYSTEAD_PORT_8080_TCP_PORT": "8080",
    "KEYSTEAD_PORT_8080_TCP_ADDR": "10.0.0.7",
    "KEYSTEAD_POSTGRES_SERVICE_HOST": "10.0.0.8",
    "KEYSTEAD_POSTGRES_PORT": "tcp://10.0.0.8:5432",
    "KEYSTEAD_POSTGRES_PORT_5432_TCP_ADDR": "10.0.0.8",
}


def test_variables_of_a_kubernetes_service_are_let_be() -> None:
    """Kubernetes sets them in every container beside a Service that is named keystead, or keystead-postgres."""
    assert from_environment(URL | KUBERNETES) == from_environment(URL)


BAD = [
    ({}, "no database: set --database-url, KEYSTEAD_DATABASE_URL or KEYSTEAD_DATABASE_URL_FILE"),
    (URL | {"KEYSTEAD_PROT": "1"}, "unknown setting KEYSTEAD_PROT: did you mean KEYSTEAD_PORT?"),
    (URL | {"KEYSTEAD_WORKRS": "2"}, "unknown setting KEYSTEAD_WORKRS: did you mean KEYSTEAD_WORKERS?"),
    (URL | {"KEYSTEAD_BASE_ULR": "2"}, "unknown setting KEYSTEAD_BASE_ULR: did you mean KEYSTEAD_BASE_URL?"),
    (URL | {"KEYSTEAD_XYZZY": "2"}, "unknown setting KEYSTEAD_XYZZY; docs"),
    (URL | {"KEYSTEAD_PORT": "http"}, "setting KEYSTEAD_PORT: expected a whole number from 0 to 65535"),
    (URL | {"KEYSTEAD_PORT": "65536"}, "setting KEYSTEAD_PORT: expected a whole number from 0 to 65535"),
    (URL | {"KEYSTEAD_WORKERS": "0"}, "setting KEYSTEAD_WORKERS: expected a whole number, 1 or more"),
    (URL | {"KEYSTEAD_SERVICE": "x"}, "unknown setting KEYSTEAD_SERVICE"),
    (URL | {"KEYSTEAD_POSTGRES_PORT": "5432"}, "unknown setting KEYSTEAD_POSTGRES_PORT"),
    (URL | {"KEYSTEAD_PORT": ""}, "setting KEYSTEAD_PORT: "),
    (URL | {"KEYSTEAD_LOG_REQUESTS": "perhaps"}, "setting KEYSTEAD_LOG_REQUESTS: expected true or false"),
    (URL | {"KEYSTEAD_MODE": "production"}, "setting KEYSTEAD_MODE: expected dev or serve"),
    (
        URL | {"KEYSTEAD_LOG_LEVEL": "loud"},
        "setting KEYSTEAD_LOG_LEVEL: expected debug, info, warning or error",
    ),
    (URL | {"KEYSTEAD_LIMIT_USERS": "many"}, "setting KEYSTEAD_LIMIT_USERS: expected a whole number, 0 or more"),
]


@pytest.mark.parametrize(("variables", "message"), BAD, ids=[message for _, message in BAD])
def test_bad(variables: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        from_environment(variables)


def test_networks_of_proxies() -> None:
    limits = connection_limits(Settings(database_url="sqlite:///x", proxy_networks=" 10.0.0.0/8, ::1 "))
    assert [str(network) for network in limits.addresses.shared] == ["10.0.0.0/8", "::1/128"]
    with pytest.raises(SettingsError, match=r"setting KEYSTEAD_PROXY_NETWORKS: 10\.0\.0\.1/8 has host bits set"):
        connection_limits(Settings(database_url="sqlite:///x", proxy_networks="10.0.0.1/8"))
    with pytest.raises(
        SettingsError, match=r"setting KEYSTEAD_TRUSTED_PROXIES: 'proxy' does.*; expected networks such as"
    ):
        connection_limits(Settings(database_url="sqlite:///x", trusted_proxies="proxy"))


def test_settings_do_not_show_their_secrets() -> None:
    settings = Settings(database_url="postgresql://me:secret@host/db", master_key="ab" * 32)
    assert "secret" not in repr(settings) + str(settings)
    assert "ab" * 32 not in repr(settings)


ORIGINS = [
    ("*", b"https://a.example", b"*"),
    ("https://a.example", b"https://a.example", b"https://a.example"),
    ("https://a.example, https://b.example", b"https://b.example", b"https://b.example"),
    ("https://a.example", b"https://b.example", None),
    ("https://a.example", b"https://a.example.evil.example", None),
    ("https://a.example", b"null", None),
    ("", b"https://a.example", None),
]


@pytest.mark.parametrize(("setting", "origin", "allowed"), ORIGINS)
def test_origins(setting: str, origin: bytes, allowed: bytes | None) -> None:
    policy = CorsPolicy.of(setting)
    assert dict(policy.headers(origin)).get(b"access-control-allow-origin") == allowed
    assert bool(policy.preflight(origin)) == (allowed is not None)
    assert policy.preflight(None) == []


@pytest.fixture
def installation(make_sqlite: MakeDatabase) -> Installation:
    return bootstrap_installation(make_sqlite())


def refusal_to_start(database: Database, installation: Installation, **settings: Any) -> str:
    fitting = {"database_url": database.url, "master_key": installation.master_key.secret_text()}
    with pytest.raises(NotReady) as refused:
        asyncio.run(open_checked(Settings(**fitting | settings)))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_no_tables(installation: Installation, tmp_path: Any) -> None:
    database = SqliteDatabase(tmp_path / "empty.db")
    database.rows("SELECT 1")
    database.close()
    assert "run keystead migrate" in refusal_to_start(database, installation)


def test_no_organization(installation: Installation, make_sqlite: MakeDatabase) -> None:
    assert "holds no organization yet" in refusal_to_start(make_sqlite(), installation)


def test_no_database(installation: Installation, tmp_path: Any) -> None:
    refused = refusal_to_start(SqliteDatabase(tmp_path / "missing.db"), installation)
    assert refused == f"there is no database file {tmp_path / 'missing.db'}: run keystead init"
    assert not (tmp_path / "missing.db").exists()


def test_an_unreachable_database_is_not_quoted(installation: Installation, make_sqlite: MakeDatabase) -> None:
    url = "postgresql://me:password@127.0.0.1:1/db"
    assert "password" not in refusal_to_start(make_sqlite(), installation, database_url=url)


def test_data_of_the_other_mode(installation: Installation) -> None:
    assert "keystead dev refuses it" in refusal_to_start(installation.database, installation, mode="dev")


ISSUERS: list[tuple[dict[str, str], str]] = [
    ({"oidc_issuers": "http://issuer.example"}, "setting KEYSTEAD_OIDC_ISSUERS: 'http://issuer.example': expected"),
    ({"oidc_issuers": "https://a.example, b.example"}, "setting KEYSTEAD_OIDC_ISSUERS: 'b.example': expected"),
    ({"oidc_keys_file": "/nonexistent"}, "setting KEYSTEAD_OIDC_KEYS_FILE: cannot read it: No such file"),
    ({"oidc_keys_file": "/dev/null"}, "setting KEYSTEAD_OIDC_KEYS_FILE: expected a JSON object"),
]


@pytest.mark.parametrize(("settings", "message"), ISSUERS, ids=[message for _, message in ISSUERS])
def test_issuers(settings: dict[str, str], message: str, installation: Installation) -> None:
    assert refusal_to_start(installation.database, installation, **settings).startswith(message)


def test_libraries_for_tokens_are_loaded_where_an_issuer_is_named() -> None:
    """They take a fifth of a second."""
    names = ("jwt", "keystead.identities.discovery", "keystead.identities.key_sets")
    loaded = f"import sys, keystead.server.run; print([name in sys.modules for name in {names}])"
    printed = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout
    assert printed == "[False, False, False]\n"


MASTER_KEYS: list[tuple[dict[str, str], str]] = [
    ({"master_key": ""}, "no master key"),
    ({"master_key": "secret"}, "KEYSTEAD_MASTER_KEY"),
    ({"master_key": "", "master_key_file": "/nonexistent"}, "does not exist"),
    ({"master_key": MasterKey.generate().secret_text()}, "it belongs to another installation"),
]


@pytest.mark.parametrize(("settings", "message"), MASTER_KEYS, ids=[message for _, message in MASTER_KEYS])
def test_master_key(settings: dict[str, str], message: str, installation: Installation) -> None:
    refused = refusal_to_start(installation.database, installation, **settings)
    assert message in refused
    assert "secret" not in refused
