"""The operator's settings. Each is declared once, as an environment variable KEYSTEAD_… with its default.

Command-line flags set the same variables. Not here: what the settings do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from keystead.api.choices import nearest
from keystead.organizations.record_kinds import RECORD_KINDS
from keystead.server.settings.setting_values import expected_value, shown_value

PREFIX = "KEYSTEAD_"

CLIENT_VARIABLES: Final[Mapping[str, str]] = {
    f"{PREFIX}{name}": meaning
    for name, meaning in (
        ("API_PRIVATE_KEY", "Private half of the client's API key, hex."),
        ("API_PUBLIC_KEY", "Public half of the client's API key, compressed hex."),
        ("AUTH_PROXY_ID", "Id of the authentication proxy that the examples for browsers use."),
        ("BASE_URL", "Address of the server; set alone, it replaces the address in a credentials file."),
        ("CA_FILE", "File with the authority that the client trusts, for a server with `keystead dev --tls`."),
        ("COMMAND", "The command with which the test kit for Node starts `keystead`."),
        ("CREDENTIALS", "The credentials file of commands such as `keystead request`."),
        ("ORGANIZATION_ID", "Organization of requests that name none."),
        ("ORGANIZATION_NAME", "Name of the organization that `keystead init` makes."),
        ("USER_ID", "User that the credentials belong to; information for people and scripts."),
    )
}
"""Variables of the same prefix for clients, commands and examples, with their meanings. The server ignores them, so
that one file of variables serves all of them. What a command declares as `envvar` is here or is a setting."""


ForwardedHeader = Literal["x-forwarded-for", "forwarded"]
LogFormat = Literal["json", "pretty"]


class SettingsError(Exception):
    """A setting is unknown, missing or malformed. The message is one line for the operator."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Names of times end in their unit; sizes are in bytes. The descriptions are the documentation
    (`configuration`)."""

    database_url: Annotated[str, Meta(description="`postgresql://…` or `sqlite:///FILE`.")]
    database_url_file: Annotated[
        str, Meta(description="File with the database URL, in place of `KEYSTEAD_DATABASE_URL`. Read at the start.")
    ] = ""
    mode: Annotated[
        Literal["dev", "serve"],
        Meta(description="The command that made the data; `dev` and `serve` each refuse the data of the other."),
    ] = "serve"
    master_key_file: Annotated[
        str,
        Meta(
            description="File with the master key (64 hex digits or base64 of 32 bytes), or PKCS#11 URI. The file "
            "has mode 0600 or 0400; if root owns it, 0440 or 0640 too (security.md)."
        ),
    ] = ""
    other_master_key_file: Annotated[
        str,
        Meta(description="A second master key during a rotation: it opens what it sealed, and seals nothing."),
    ] = ""
    master_key: Annotated[str, Meta(description="The master key itself, in place of a file.")] = ""
    pkcs11_pin: Annotated[
        str, Meta(description="PIN of the PKCS#11 token, if the URI names no file with the PIN.")
    ] = ""
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to listen on; 0 chooses a free one.", ge=0, le=65_535)] = 8080
    tls_cert: Annotated[
        str,
        Meta(
            description="File with the certificate chain (PEM): the server then speaks TLS itself. Loaded again "
            "when it changes, and on SIGHUP (tls.md)."
        ),
    ] = ""
    tls_key: Annotated[
        str, Meta(description="File with its private key (PEM, no password), of the same modes as the master key.")
    ] = ""
    workers: Annotated[int, Meta(description="Processes that serve.", ge=1)] = 1
    database_timeout_s: Annotated[
        int,
        Meta(
            description="Seconds that the database may take to accept a connection or to answer a statement; then "
            "the request is answered 503 and the next host of the URL is tried.",
            ge=1,
        ),
    ] = 5
    answer_form: Annotated[
        Literal["auto", "documented", "sdk"],
        Meta(description="Form of answers: `auto` recognizes the client (divergences.md)."),
    ] = "auto"
    cors_origins: Annotated[
        str, Meta(description="Browser origins that may call, separated by commas; `*` for any, empty for none.")
    ] = "*"
    console: Annotated[bool, Meta(description="Serve the web console at `/console/` (console.md).")] = True
    console_url: Annotated[
        str,
        Meta(
            description="Address at which people reach the console, such as `https://example.com/console/`: links "
            "of invitations that the server sends by e-mail begin with it; empty sends none."
        ),
    ] = ""
    console_auth_proxy: Annotated[
        str,
        Meta(
            description="Id of the authentication proxy with which people log in to the console by one-time code, "
            "or at an issuer; empty for neither."
        ),
    ] = ""
    console_oidc: Annotated[
        str,
        Meta(
            description="OpenID Connect issuers at which people log in to the console, separated by commas: "
            "`NAME=AUTHORIZATION-ENDPOINT?client_id=ID` (console.md)."
        ),
    ] = ""
    metrics_address: Annotated[
        str,
        Meta(
            description="HOST:PORT at which `GET /metrics` answers Prometheus, such as `127.0.0.1:9464`; empty for "
            "none. Anybody who reaches it can read it (monitoring.md)."
        ),
    ] = ""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The lowest level that is logged.")
    ] = "info"
    log_format: Annotated[
        LogFormat, Meta(description="Form of the log: `json`, one object a line, or `pretty`, for people.")
    ] = "json"
    log_requests: Annotated[bool, Meta(description="Log one line per request.")] = True
    body_bytes_max: Annotated[int, Meta(description="Largest request body, in bytes.", ge=1)] = 1_048_576
    header_bytes_max: Annotated[
        int, Meta(description="Largest header section, in bytes; also the framing of a body in chunks.", ge=1)
    ] = 32_768
    header_timeout_s: Annotated[
        int, Meta(description="Seconds in which a request's headers must be complete.", ge=1)
    ] = 15
    body_timeout_s: Annotated[
        int, Meta(description="Seconds in which a request's body must be complete.", ge=1)
    ] = 15
    write_timeout_s: Annotated[
        int, Meta(description="Seconds in which a caller must read an answer; then the connection is reset.", ge=1)
    ] = 30
    idle_timeout_s: Annotated[int, Meta(description="Seconds after which an idle connection is closed.", ge=1)] = 75
    connections_max: Annotated[
        int, Meta(description="Most open connections of a process; fewer if it may open fewer files.", ge=1)
    ] = 4_096
    connections_per_address_max: Annotated[
        int, Meta(description="Most open connections from one address (IPv6: one /64 network) to a process.", ge=1)
    ] = 128
    connection_bytes_max: Annotated[
        int,
        Meta(description="Most bytes of requests and unread answers that all connections of a process hold.", ge=1),
    ] = 268_435_456
    failures_per_address: Annotated[
        int,
        Meta(
            description="Requests per second from one address that may fail before their sender is known; further "
            "ones get 429 before stamps are verified. 0 for no limit.",
            ge=0,
        ),
    ] = 20
    proxy_networks: Annotated[
        str,
        Meta(
            description="Networks whose addresses stand for many callers each, such as those of proxies, separated "
            "by commas. Limits per address do not apply to connections from there."
        ),
    ] = "127.0.0.0/8, ::1/128, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7"
    trusted_proxies: Annotated[
        str,
        Meta(
            description="Networks of proxies whose `KEYSTEAD_FORWARDED_HEADER` names the caller, separated by "
            "commas. Such a proxy must append to the header, or replace it (production.md)."
        ),
    ] = ""
    forwarded_header: Annotated[
        ForwardedHeader,
        Meta(
            description="Header in which trusted proxies name the caller: `x-forwarded-for` or `forwarded`. The "
            "other one is not read."
        ),
    ] = "x-forwarded-for"
    ip_allowlists: Annotated[
        bool,
        Meta(
            description="Enforce the IP allow-lists of organizations. `false` lets in an organization that locked "
            "itself out."
        ),
    ] = True
    shutdown_timeout_s: Annotated[
        int, Meta(description="Seconds that requests under way have when the server is told to stop.", ge=1)
    ] = 30
    timestamp_past_s: Annotated[
        int, Meta(description="Seconds that a submission's `timestampMs` may be behind the server's clock.", ge=1)
    ] = 3_600
    timestamp_future_s: Annotated[
        int, Meta(description="Seconds that a submission's `timestampMs` may be ahead of the server's clock.", ge=1)
    ] = 300
    approvals_last_s: Annotated[
        int, Meta(description="Seconds after which approvals lapse and must be given again.", ge=1)
    ] = 86_400
    refuse_raw_payloads: Annotated[
        bool,
        Meta(description="Refuse raw payloads of organizations with policies about transactions (policies.md)."),
    ] = False
    policy_characters_cached: Annotated[
        int, Meta(description="Characters of policies that a process keeps compiled; each takes 100 bytes.", ge=0)
    ] = 1_000_000
    oidc_keys_file: Annotated[
        str,
        Meta(
            description="JSON file of OpenID Connect issuers with their keys, `{issuer: JWK Set}`; no key is "
            "fetched."
        ),
    ] = ""
    oidc_issuers: Annotated[
        str,
        Meta(
            description="More issuers, separated by commas. Their keys are fetched over HTTPS, or over HTTP on "
            "this machine (security.md)."
        ),
    ] = ""
    smtp_host: Annotated[str, Meta(description="Mail server that sends e-mails; empty for none (logins.md).")] = ""
    smtp_port: Annotated[int, Meta(description="Port of the mail server.", ge=1, le=65_535)] = 587
    smtp_security: Annotated[
        Literal["starttls", "tls", "none"],
        Meta(
            description="How the connection to the mail server is protected; `none` is for a server on "
            "the same machine."
        ),
    ] = "starttls"
    smtp_sender: Annotated[str, Meta(description="Sender of e-mails, if the caller names none.")] = ""
    smtp_username: Annotated[str, Meta(description="Name to log in to the mail server; empty for none.")] = ""
    smtp_password_file: Annotated[
        str, Meta(description="File with the password for the mail server, on one line.")
    ] = ""
    smtp_ca_file: Annotated[
        str, Meta(description="Certificates to trust for the mail server, as PEM; empty for the system's.")
    ] = ""
    message_hook_url: Annotated[
        str,
        Meta(
            description="Address (https) that gets every SMS as a POST, and every e-mail if no mail server is set."
        ),
    ] = ""
    message_hook_secret_file: Annotated[
        str, Meta(description="File with the secret that signs these posts (HMAC-SHA256), 32 bytes or more.")
    ] = ""
    messages_last_s: Annotated[
        int, Meta(description="Seconds after which a message that could not be sent is dropped.", ge=1)
    ] = 600
    refused_requests_days: Annotated[
        int,
        Meta(
            description="Days for which refused requests of users are kept, for the console and for "
            "`list_refused_requests`; then they are deleted. 0 keeps none.",
            ge=0,
            le=3_650,
        ),
    ] = 30
    messages_kept_s: Annotated[
        int,
        Meta(
            description="Seconds for which the outbox keeps messages that were sent or dropped, and for which "
            "`list_email_events` has the events of e-mails; then they are deleted.",
            ge=1,
        ),
    ] = 30 * 24 * 3_600
    sandbox_contacts: Annotated[
        bool,
        Meta(
            description="Sandbox contacts get the one-time code 000000, and no message. `keystead dev` "
            "always does this. The code is public: set this only on servers without real keys (logins.md)."
        ),
    ] = False
    webhook_networks: Annotated[
        str,
        Meta(
            description="Networks, separated by commas, to which webhooks may be sent besides public addresses, "
            "such as `10.0.0.0/8`. `keystead dev` adds loopback addresses (webhooks.md)."
        ),
    ] = ""
    webhook_ca_file: Annotated[
        str, Meta(description="Certificates to trust for receivers of webhooks, as PEM; empty for the system's.")
    ] = ""
    webhooks_last_s: Annotated[
        int, Meta(description="Seconds after which a webhook that could not be delivered is dropped.", ge=1)
    ] = 3_600
    oauth2_issuer: Annotated[
        str,
        Meta(
            description="Issuer in the ID tokens that this server signs for people of OAuth 2.0 providers. Do not "
            "change it after the first login: it is part of each person's identity."
        ),
    ] = "https://oauth2.keystead.invalid"
    oauth2_x_exchange_url: Annotated[str, Meta(description="Where X exchanges authorization codes.")] = (
        "https://api.x.com/2/oauth2/token"
    )
    oauth2_x_user_url: Annotated[str, Meta(description="Where X names the person of a bearer token.")] = (
        "https://api.x.com/2/users/me"
    )
    oauth2_discord_exchange_url: Annotated[
        str, Meta(description="Where Discord exchanges authorization codes.")
    ] = "https://discord.com/api/oauth2/token"
    oauth2_discord_user_url: Annotated[
        str, Meta(description="Where Discord names the person of a bearer token.")
    ] = "https://discord.com/api/users/@me"
    rate_limit: Annotated[
        int,
        Meta(
            description="Requests per second that each organization has on each machine; 0 for no limit. Those "
            "of its authentication proxies are counted apart, up to as many.",
            ge=0,
        ),
    ] = 0
    credential_rate_limit: Annotated[
        int,
        Meta(
            description="Requests per second that each credential has on each machine: an API key, a passkey, a "
            "session; 0 for no limit. Those of authentication proxies are not limited by it.",
            ge=0,
        ),
    ] = 0
    auth_proxy_rate_limit: Annotated[
        int,
        Meta(
            description="Requests per second that each address may send to the authentication proxies of a "
            "machine; 0 for no limit.",
            ge=0,
        ),
    ] = 20
    organizations_cached: Annotated[
        int, Meta(description="Most organizations that a process keeps in memory.", ge=1)
    ] = 10_000
    organization_bytes_cached: Annotated[
        int, Meta(description="Most measured bytes of these organizations and of answers cached with them.", ge=1)
    ] = 268_435_456
    signing_bytes_cached: Annotated[
        int, Meta(description="Most bytes of keys and contract interfaces that a process keeps for signing.", ge=0)
    ] = 67_108_864
    sign_legacy_without_chain_id: Annotated[
        bool,
        Meta(description="Sign Ethereum transactions that name no chain and are therefore valid on every chain."),
    ] = False

    def __repr__(self) -> str:
        return f"Settings(mode={self.mode!r})"


AllSettings: type[Settings] = msgspec.defstruct(
    "AllSettings",
    [
        (f"limit_{limit.name}", Annotated[int, Meta(description=limit.description, ge=0)], limit.default)
        for limit in RECORD_KINDS.limits
    ],
    bases=(Settings,),
    frozen=True,
    kw_only=True,
)  # type: ignore[assignment] # `bases` makes it a Settings
"""The settings, with `limit_…` for each limit that a record kind declares."""

SECRET_NAMES = frozenset({f"{PREFIX}MASTER_KEY", f"{PREFIX}PKCS11_PIN"})
"""Variables whose values are for the signer alone."""

NAMES = frozenset(PREFIX + field.name.upper() for field in msgspec.structs.fields(AllSettings))

OF_DATA: Final = frozenset(
    PREFIX + name
    for name in (
        "DATABASE_URL",
        "DATABASE_URL_FILE",
        "MODE",
        "MASTER_KEY_FILE",
        "OTHER_MASTER_KEY_FILE",
        "MASTER_KEY",
        "PKCS11_PIN",
    )
)
"""The settings that name an installation's data. For a development server, its folder sets them."""


def as_variables(options: Mapping[str, object]) -> dict[str, str]:
    """The variables that set these settings, which are named by their fields. None and "" set nothing."""
    return {variable_of(name): shown_value(value) for name, value in options.items() if value not in (None, "")}


def variable_of(field: str) -> str:
    """The variable that sets this field of the settings."""
    return PREFIX + field.upper()


def differences(settings: Settings, usual: Settings) -> dict[str, str]:
    """The variables whose settings differ from the usual ones, with their values."""
    values, usual_values = msgspec.structs.asdict(settings), msgspec.structs.asdict(usual)
    return {variable_of(name): shown_value(value) for name, value in values.items() if value != usual_values[name]}


def from_environment(environment: Mapping[str, str]) -> Settings:
    """The settings in these variables. Raises SettingsError for an unknown or malformed one."""
    variables = {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIX) and not _is_of_kubernetes(name, value)
    }
    if unknown := sorted(variables.keys() - NAMES - CLIENT_VARIABLES.keys()):
        raise SettingsError(
            f"unknown setting {unknown[0]}{_suggestion(unknown[0])} docs/configuration.md lists all"
        )
    values: dict[str, Any] = {
        name.removeprefix(PREFIX).lower(): value for name, value in variables.items() if name in NAMES
    }
    if path := values.get("database_url_file"):
        if values.get("database_url"):
            raise SettingsError("set KEYSTEAD_DATABASE_URL or KEYSTEAD_DATABASE_URL_FILE, not both")
        from keystead.storage.open import read_database_url  # few servers need it at the start

        try:
            values["database_url"] = read_database_url(path)
        except ValueError as refused:
            raise SettingsError(str(refused)) from None
    try:
        return msgspec.convert(values, AllSettings, strict=False)
    except msgspec.ValidationError as refused:
        if "missing required field" in str(refused):
            raise SettingsError(
                "no database: set --database-url, KEYSTEAD_DATABASE_URL or KEYSTEAD_DATABASE_URL_FILE"
            ) from None
        raise SettingsError(_validation_text(refused)) from None


_KUBERNETES_NAMES: Final = re.compile(
    PREFIX + r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_KUBERNETES_PORT: Final = re.compile(PREFIX + r"(\w+_)?PORT")


def _is_of_kubernetes(name: str, value: str) -> bool:
    """Whether Kubernetes, not the operator, sets this variable: for a Service named keystead or keystead-…."""
    if _KUBERNETES_NAMES.fullmatch(name):
        return True
    return _KUBERNETES_PORT.fullmatch(name) is not None and value.startswith(("tcp://", "udp://", "sctp://"))


def _validation_text(refused: msgspec.ValidationError) -> str:
    name = str(refused).partition(" - at `$.")[2].rstrip("`")
    return f"setting {PREFIX}{name.upper()}: {expected_value(AllSettings, name)}"


def _suggestion(unknown: str) -> str:
    """The middle of the error about an unknown setting: the known name that is most similar, compared without the
    common prefix."""
    known = [name.removeprefix(PREFIX) for name in (*NAMES, *CLIENT_VARIABLES)]
    near = nearest(unknown.removeprefix(PREFIX), sorted(known))
    return ";" if near is None else f": did you mean {PREFIX}{near}?"
