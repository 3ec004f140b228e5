"""`keystead wallets`, `users`, `interfaces`: prints an organization's lists, as tables or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from keystead.cli.columns import Column, JsonRecord, ends_of, id_column, table, terminal_width
from keystead.cli.credentials import CredentialsFile
from keystead.cli.requests import format_json, open_client
from keystead.cli.texts import NONE, moment

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def wallets(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the wallets."""
    with open_client(credentials) as client:
        records = client.request("query/list_wallets", {})["wallets"]
    show_table(
        records,
        as_json,
        [
            id_column("wallet", lambda wallet: wallet["walletId"]),
            Column(name="name", cell=lambda wallet: wallet["walletName"], cut=True),
            Column(name="created", cell=lambda wallet: moment(wallet["createdAt"]), optional=1),
            Column(name="exported", cell=lambda wallet: _yes_or_no(wallet["exported"])),
            Column(name="imported", cell=lambda wallet: _yes_or_no(wallet["imported"])),
        ],
    )


def users(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the users."""
    with open_client(credentials) as client:
        records = client.request("query/list_users", {})["users"]
    show_table(
        records,
        as_json,
        [
            id_column("user", lambda user: user["userId"]),
            Column(name="name", cell=lambda user: user["userName"], cut=True),
            Column(name="e-mail", cell=lambda user: user.get("userEmail", ""), cut=True),
            Column(name="API keys", cell=lambda user: str(len(user["apiKeys"]))),
            Column(name="authenticators", cell=lambda user: str(len(user["authenticators"]))),
            Column(name="identities", cell=lambda user: str(len(user["oauthProviders"])), optional=1),
            Column(name="created", cell=lambda user: moment(user["createdAt"]), optional=2),
        ],
    )


def interfaces(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the contract interfaces."""
    with open_client(credentials) as client:
        records = client.request("query/list_smart_contract_interfaces", {})["smartContractInterfaces"]
    show_table(
        records,
        as_json,
        [
            id_column("interface", lambda interface: interface["smartContractInterfaceId"]),
            Column(name="label", cell=lambda interface: interface["label"], cut=True),
            Column(name="chain", cell=lambda interface: interface["type"].rpartition("_")[2].capitalize()),
            Column(name="address", cell=lambda interface: interface["smartContractAddress"], short=ends_of),
            Column(
                name="bytes",
                cell=lambda interface: str(len(interface["smartContractInterface"].encode())),
                optional=1,
            ),
            Column(name="created", cell=lambda interface: moment(interface["createdAt"]), optional=2),
        ],
    )


def show_table(records: Sequence[JsonRecord], as_json: bool, columns: Sequence[Column]) -> None:
    """Print the records as JSON, or as a table that fits the terminal."""
    if as_json:
        print(format_json(records))
        return
    for line in table(records, columns, terminal_width()):
        print(line)
    if not records:
        print(NONE)


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
