"""`keystead auth-proxy`: makes, changes, lists and deletes authentication proxies, as a user who is allowed to.

Not here: what a proxy does (`operations.auth_proxy.endpoints`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from keystead.api.enums import ActivityStatus, AuthMethod
from keystead.cli.credentials import CredentialsFile
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.requests import format_json, open_client
from keystead.cli.tables import AsJson
from keystead.cli.texts import printable, status
from keystead.client.client import Client

BASE_PATH = "/auth-proxy"
"""The path below the server's address; clients call the whole address `authProxyUrl`."""

app = group("Say what browsers without a key may do: sign up and log in.")

Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--origin", help="Origin whose pages may call, such as https://app.example; * for any. Repeatable."
    ),
]
Methods = Annotated[
    list[AuthMethod] | None,
    typer.Option(
        "--method", help="A way to log in that is allowed. Repeatable. A new proxy allows all if none is given."
    ),
]
NameOption = Annotated[str, typer.Option("--app-name", help="The application's name in messages.")]
SessionOption = Annotated[
    int,
    typer.Option(
        "--session-seconds", show_default=False, help="Seconds that a session lasts. A new proxy has 900."
    ),
]
CodeLengthOption = Annotated[
    int,
    typer.Option(
        "--code-length", show_default=False, help="Characters of a one-time code, 6 to 9. A new proxy has 6."
    ),
]
CodeFormOption = Annotated[
    bool | None, typer.Option("--letters/--digits", help="Whether one-time codes have letters, or digits only.")
]
Clients = Annotated[
    list[str] | None,
    typer.Option("--oauth-client", help="PROVIDER=CLIENT_ID, such as google=123.apps.example. Repeatable."),
]
Linked = Annotated[
    list[str] | None,
    typer.Option(
        "--link-google",
        help="Client id of Google with which people whose Gmail address is verified here may log in. Repeatable.",
    ),
]
Redirect = Annotated[str, typer.Option("--redirect-url", help="Where OAuth providers send people back to.")]


@app.command("create")
def create(
    origin: Origins = None,
    method: Methods = None,
    app_name: NameOption = "",
    session_seconds: SessionOption = 0,
    code_length: CodeLengthOption = 0,
    letters: CodeFormOption = None,
    oauth_client: Clients = None,
    link_google: Linked = None,
    redirect_url: Redirect = "",
    credentials: CredentialsFile = None,
) -> None:
    """Make an authentication proxy and print its id and base address."""
    parameters = _parameters(
        origin, method, app_name, session_seconds, code_length, letters, oauth_client, link_google, redirect_url
    )
    with open_client(credentials) as client:
        config_id = _result(client, "enable_auth_proxy", {})["userId"]
        try:
            if parameters:
                _result(client, "update_auth_proxy_config", {"configId": config_id, **parameters})
        except Exception:  # a proxy with other settings than those of the options must not stay
            _result(client, "disable_auth_proxy", {"configId": config_id})
            raise
        print(f"configuration  {config_id}")
        print(f"base address   {client.base_url}{BASE_PATH}")


@app.command("update")
def update(
    config_id: Annotated[str, typer.Argument(metavar="CONFIG_ID", help="Id of the configuration.")],
    origin: Origins = None,
    method: Methods = None,
    app_name: NameOption = "",
    session_seconds: SessionOption = 0,
    code_length: CodeLengthOption = 0,
    letters: CodeFormOption = None,
    oauth_client: Clients = None,
    link_google: Linked = None,
    redirect_url: Redirect = "",
    credentials: CredentialsFile = None,
) -> None:
    """Change an authentication proxy. Options that are not given change nothing. A list replaces the old list."""
    parameters = _parameters(
        origin, method, app_name, session_seconds, code_length, letters, oauth_client, link_google, redirect_url
    )
    if not parameters:
        raise typer.BadParameter("nothing to change: give an option")
    with open_client(credentials) as client:
        _result(client, "update_auth_proxy_config", {"configId": config_id, **parameters})
        print(f"updated {config_id}")


@app.command("list")
def list_proxies(credentials: CredentialsFile = None, as_json: AsJson = False) -> None:
    """List the authentication proxies of the organization."""
    with open_client(credentials) as client:
        configs = client.query("list_auth_proxy_configs")["authProxyConfigs"]
        if as_json:
            print(format_json(configs))
            return
        for config in configs:
            print(f"{config['configId']}  {printable(config['appName'])}")
            print(f"  base address  {client.base_url}{BASE_PATH}")
            print(f"  origins       {printable(', '.join(config['allowedOrigins'])) or 'none: no page may call'}")
            print(f"  logins        {', '.join(config['allowedAuthMethods'])}")
            print(f"  sessions      {config['sessionExpirationSeconds']} s")


@app.command("delete")
def delete(
    config_id: Annotated[str, typer.Argument(metavar="CONFIG_ID", help="Id of the configuration.")],
    credentials: CredentialsFile = None,
) -> None:
    """Delete an authentication proxy, with its user and its policy."""
    with open_client(credentials) as client:
        _result(client, "disable_auth_proxy", {"configId": config_id})
        print(f"deleted {config_id}")


def _parameters(
    origins: list[str] | None,
    methods: list[AuthMethod] | None,
    app_name: str,
    session_seconds: int,
    code_length: int,
    letters: bool | None,
    oauth_clients: list[str] | None,
    linked_clients: list[str] | None,
    redirect_url: str,
) -> dict[str, Any]:
    """The parameters of update_auth_proxy_config for these options; only those that change something."""
    wallet_kit: dict[str, Any] = {}
    if oauth_clients:
        pairs = [text.partition("=") for text in oauth_clients]
        if not all(separator and provider and client_id for provider, separator, client_id in pairs):
            raise typer.BadParameter("expected PROVIDER=CLIENT_ID", param_hint="--oauth-client")
        wallet_kit["oauthClientIds"] = {provider: client_id for provider, _, client_id in pairs}
        wallet_kit["enabledSocialProviders"] = list(wallet_kit["oauthClientIds"])
    if redirect_url:
        wallet_kit["oauthRedirectUrl"] = redirect_url
    parameters = {
        "allowedOrigins": origins,
        "allowedAuthMethods": [method.value for method in methods] if methods else None,
        "emailCustomizationParams": {"appName": app_name} if app_name else None,
        "sessionExpirationSeconds": session_seconds or None,
        "otpLength": code_length or None,
        "otpAlphanumeric": letters,
        "socialLinkingClientIds": linked_clients,
        "walletKitSettings": wallet_kit or None,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def _result(client: Client, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The result of a submission. Raises Failure if it was not executed."""
    activity = client.submit(operation, parameters)["activity"]
    if activity["status"] != ActivityStatus.COMPLETED.value:
        raise Failure(
            f"activity {activity['id']} has status {status(activity)}: it needs approval; see keystead approve"
        )
    return dict(next(iter(activity["result"].values())))
