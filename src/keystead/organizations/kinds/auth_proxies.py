"""Authentication proxies: what an organization allows browsers that have no key of it.

Here: the record of a proxy and its settings. Not here: its endpoints (`operations.auth_proxy.endpoints`), and what
the user of a proxy may do, which a policy decides.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api.enums import AuthMethod
from keystead.api.records import Timestamp
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.limits import Limit
from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.record_map import RecordMap

AUTH_PROXIES = Limit(
    name="auth_proxies",
    default=100,
    description="Most authentication proxies of an organization.",
    called="authentication proxies",
)

ANY_ORIGIN = "*"


class AuthProxySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator sets. Times are in seconds.

    `allowed_origins`: origins of browsers, or ANY_ORIGIN. `oauth_client_ids`: a client id by social provider; if
    there are any, ID tokens must be for one of them. `social_linking_client_ids`: the audiences of Google's tokens
    whose verified e-mail address finds an account.
    """

    allowed_origins: tuple[str, ...] = ()
    allowed_auth_methods: tuple[AuthMethod, ...] = tuple(AuthMethod)
    app_name: str = "Keystead"
    logo_url: str | None = None
    template_variables: str | None = None
    template_id: str | None = None
    magic_link_template: str | None = None
    sms_template: str | None = None
    send_from_email_address: str | None = None
    send_from_email_sender_name: str | None = None
    reply_to_email_address: str | None = None
    session_expiration_seconds: int = 900
    otp_expiration_seconds: int = 300
    verification_token_expiration_seconds: int = 3_600
    otp_alphanumeric: bool = True
    otp_length: int = 6
    enabled_social_providers: tuple[str, ...] = ()
    oauth_client_ids: dict[str, str] = {}
    oauth_redirect_url: str | None = None
    social_linking_client_ids: tuple[str, ...] = ()
    verification_token_required_for_get_account_pii: bool = True


class AuthProxy(msgspec.Struct, frozen=True, kw_only=True):
    """A proxy. `user_id`: the user that it acts as, and the id of its configuration.

    `sealed_key`: the private half of that user's API key; `public_key` is P-256, compressed, in hex. `policy_id`:
    the policy that allows the user what a proxy does.
    """

    user_id: Annotated[str, Meta(max_length=128)]
    policy_id: str
    public_key: str
    sealed_key: Sealed
    settings: AuthProxySettings
    created_at: Timestamp
    updated_at: Timestamp


class AuthProxies(RecordMap[AuthProxy], frozen=True):
    stored_name = "auth_proxy"
    called = "authentication proxy"
    record = AuthProxy
    id_field = "user_id"
    limits = (AUTH_PROXIES,)

    @classmethod
    def lookups(cls, record: AuthProxy) -> frozenset[Lookup]:
        return frozenset([Lookup(LookupKind.AUTH_PROXY, record.user_id, record.user_id)])
