"""`keystead controls`: the velocity controls of an organization, and how much of each is left."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from keystead.cli.columns import Column, JsonRecord, id_column
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.requests import format_json, open_client
from keystead.cli.tables import AsJson, show_table
from keystead.client.client import Client

app = group("List velocity controls, and show how much of them is left.")

_OPERATORS = {
    "LESS_THAN": "less than",
    "LESS_THAN_OR_EQUAL": "at most",
    "EQUAL": "exactly",
    "GREATER_THAN_OR_EQUAL": "at least",
    "GREATER_THAN": "more than",
}


@app.command("list")
def list_controls(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the velocity controls."""
    with open_client(credentials) as client:
        controls = _controls(client)
    show_table(
        controls,
        as_json,
        [
            id_column("control", lambda control: control["velocityControlId"]),
            Column(name="in policies", cell=lambda control: f"controls.{control['identifier']}"),
            Column(name="name", cell=lambda control: control["name"], cut=True, optional=1),
            Column(name="limit", cell=_limit),
            Column(name="of", cell=_counted, cut=True),
            Column(name="for each", cell=lambda control: next(iter(control["aggregation"]["groupBy"]))),
        ],
    )


@app.command("usage")
def usage(
    control: Annotated[str, typer.Argument(metavar="CONTROL", help="The id or the identifier of a control.")],
    user: Annotated[str, typer.Option("--user", help="The id of a user; by default, you.")] = "",
    wallet: Annotated[str, typer.Option("--wallet", help="The id of a wallet or of a private key.")] = "",
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how much of a velocity control is used and left now."""
    with open_client(credentials) as client:
        found = [each for each in _controls(client) if control in (each["velocityControlId"], each["identifier"])]
        if not found:
            raise Failure(f"there is no velocity control {control!r}: `keystead controls list` shows them")
        named = {"velocityControlId": found[0]["velocityControlId"]}
        named |= {name: value for name, value in (("userId", user), ("walletId", wallet)) if value}
        used: dict[str, Any] = client.request("query/get_velocity_control_usage", named)
    if as_json:
        print(format_json(used))
        return
    print(f"{found[0]['name']} (controls.{found[0]['identifier']}): {_limit(found[0])}")
    print(f"used       {used['used']}")
    print(f"remaining  {used['remaining']}")
    if "freesAt" in used:
        print(f"frees at   {used['freesAt']}")


def _controls(client: Client) -> list[JsonRecord]:
    controls: list[JsonRecord] = client.request("query/list_velocity_controls", {})["velocityControls"]
    return controls


def _limit(control: JsonRecord) -> str:
    aggregation = control["aggregation"]
    words = _OPERATORS[aggregation["operator"].partition("_OPERATOR_")[2]]
    rolling = aggregation["window"].get("rolling")
    window = f" in {rolling['duration']} s" if rolling else " in all"
    return f"{words} {aggregation['threshold']}{window}"


def _counted(control: JsonRecord) -> str:
    """What the control counts, such as "sum of eip155:1/slip44:60"."""
    source, aggregation = control["dataSource"], control["aggregation"]
    method = aggregation["method"].rpartition("_")[2].lower()
    if (transfers := source.get("chainAssetTransfer")) is not None:
        return f"{method} of {', '.join(each['caip19'] for each in transfers['definition'])}"
    types = source["activityExecution"].get("filter", {}).get("activity", [])
    return f"{method} of {', '.join(each['activityType'] for each in types) or 'all activities'}"
