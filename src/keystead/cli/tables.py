"""`keystead wallets`, `users`, `activities`, `interfaces`: an organization's lists, to read or as JSON."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from keystead.cli.credentials import CredentialsFile
from keystead.cli.requests import calling, formatted

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

PIPED_WIDTH = 500
"""Columns where the output is no terminal: another program wants whole lines."""

Record = dict[str, Any]
Columns = dict[str, Callable[[Record], str]]


def wallets(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the wallets."""
    with calling(credentials) as client:
        found = client.request("query/list_wallets", {})["wallets"]
    _show(
        found,
        as_json,
        {
            "wallet": lambda wallet: wallet["walletId"],
            "name": lambda wallet: wallet["walletName"],
            "created": lambda wallet: _time(wallet["createdAt"]),
            "exported": lambda wallet: _yes(wallet["exported"]),
            "imported": lambda wallet: _yes(wallet["imported"]),
        },
    )


def users(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the users."""
    with calling(credentials) as client:
        found = client.request("query/list_users", {})["users"]
    _show(
        found,
        as_json,
        {
            "user": lambda user: user["userId"],
            "name": lambda user: user["userName"],
            "e-mail": lambda user: user.get("userEmail", ""),
            "API keys": lambda user: str(len(user["apiKeys"])),
            "authenticators": lambda user: str(len(user["authenticators"])),
            "identities": lambda user: str(len(user["oauthProviders"])),
            "created": lambda user: _time(user["createdAt"]),
        },
    )


def activities(
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many, newest first.")] = 20,
) -> None:
    """List the newest activities."""
    with calling(credentials) as client:
        found = client.request("query/list_activities", {"paginationOptions": {"limit": str(limit)}})["activities"]
    _show(
        found,
        as_json,
        {
            "activity": lambda activity: activity["id"],
            "type": lambda activity: activity["type"].removeprefix("ACTIVITY_TYPE_"),
            "status": lambda activity: activity["status"].removeprefix("ACTIVITY_STATUS_"),
            "votes": lambda activity: str(len(activity["votes"])),
            "created": lambda activity: _time(activity["createdAt"]),
        },
    )


def interfaces(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the contract interfaces."""
    with calling(credentials) as client:
        found = client.request("query/list_smart_contract_interfaces", {})["smartContractInterfaces"]
    _show(
        found,
        as_json,
        {
            "interface": lambda interface: interface["smartContractInterfaceId"],
            "label": lambda interface: interface["label"],
            "chain": lambda interface: interface["type"].rpartition("_")[2].capitalize(),
            "address": lambda interface: interface["smartContractAddress"],
            "bytes": lambda interface: str(len(interface["smartContractInterface"].encode())),
            "created": lambda interface: _time(interface["createdAt"]),
        },
    )


def _show(records: list[Record], as_json: bool, columns: Columns) -> None:
    if as_json:
        print(formatted(records))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name == next(iter(columns)))
    for record in records:
        table.add_row(*(_printable(cell(record)) for cell in columns.values()))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, highlight=False).print(table)
    if not records:
        print("none")


def _printable(text: str) -> str:
    """Names are other people's text: nothing in them may steer the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _time(timestamp: dict[str, str]) -> str:
    moment = datetime.datetime.fromtimestamp(int(timestamp["seconds"]), datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
