"""`keystead wallets`, `users`, `activities`, `interfaces`: an organization's lists, to read or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from keystead.cli import following
from keystead.cli.credentials import CredentialsFile
from keystead.cli.requests import calling, formatted
from keystead.cli.texts import kind, moment, printable, status

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

PIPED_WIDTH = 500
"""Columns if the output is not a terminal: another program expects whole lines."""

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
            "created": lambda wallet: moment(wallet["createdAt"]),
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
            "created": lambda user: moment(user["createdAt"]),
        },
    )


def activities(
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many, newest first.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Then print what is new or changes, until Ctrl-C.")
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two polls of --follow.")] = 1.0,
) -> None:
    """List the newest activities; with --follow, oldest first and one a line."""
    with calling(credentials) as client:
        if follow:
            following.follow(client, limit, interval, _print_json_line if as_json else _print_line)
            return
        found = client.request("query/list_activities", {"paginationOptions": {"limit": str(limit)}})["activities"]
    _show(
        found,
        as_json,
        {
            "activity": lambda activity: activity["id"],
            "type": kind,
            "status": status,
            "votes": lambda activity: str(len(activity["votes"])),
            "created": lambda activity: moment(activity["createdAt"]),
        },
    )


def _print_line(activity: Record) -> None:
    votes = len(activity["votes"])
    by = activity["votes"][0]["user"]["userName"] if votes else ""
    cells = (
        moment(activity["updatedAt"]),
        activity["id"],
        f"{status(activity):<21}",
        f"{votes} vote{'' if votes == 1 else 's'}".ljust(8),
        f"{kind(activity):<32}",
        printable(by),
    )
    print("  ".join(cells).rstrip(), flush=True)


def _print_json_line(activity: Record) -> None:
    print(msgspec.json.encode(activity).decode(), flush=True)


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
            "created": lambda interface: moment(interface["createdAt"]),
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
        table.add_row(*(printable(cell(record)) for cell in columns.values()))
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, highlight=False).print(table)
    if not records:
        print("none")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
