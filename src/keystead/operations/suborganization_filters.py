"""What finds sub-organizations: from `filterType` and `filterValue` of a request to a value in the index.

Here: the filters whose value needs no proof. Not here: tokens, which a query verifies first, and which filters it
takes (`organizations`, `auth_proxy.accounts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from keystead.api.enums import WalletAuthenticatorType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import OidcClaims, RequestStruct
from keystead.chains.wallet_claims import InvalidWalletClaim, wallet_claim
from keystead.organizations import lookups
from keystead.organizations.contacts.contacts import without_separators
from keystead.organizations.credentials.api_keys import normalized_public_key
from keystead.organizations.credentials.authenticators import normalized_credential_id

_ClaimT = TypeVar("_ClaimT", bound=RequestStruct)


class OauthClaim(RequestStruct, frozen=True):
    """The value of OAUTH_CLAIM: an OAuth identity, in the words of the records."""

    issuer: str
    subject: str
    audience: str


class WalletAuthClaim(RequestStruct, frozen=True):
    """The value of WALLET_AUTH_CLAIM: a wallet authenticator, in the words of the records."""

    type: WalletAuthenticatorType
    address: str
    domain: str


def _oauth_claim(value: str) -> str:
    claim = _decoded(value, OauthClaim, "issuer, subject and audience")
    return lookups.identity_lookup_value(claim.issuer, claim.audience, claim.subject)


def _oidc_claims(value: str) -> str:
    claims = _decoded(value, OidcClaims, "iss, sub and aud")
    return lookups.identity_lookup_value(claims.iss, claims.aud, claims.sub)


def _decoded(value: str, struct: type[_ClaimT], members: str) -> _ClaimT:
    try:
        return msgspec.json.decode(value, type=struct)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise InvalidRequest(
            f"invalid request body: field `filterValue`: expected a JSON object with {members}"
        ) from None


def _unchanged(value: str) -> str:
    return value


def _wallet_claim(value: str) -> str:
    claim = _decoded(value, WalletAuthClaim, "type, address and domain")
    try:
        return lookups.wallet_lookup_value(wallet_claim(claim.type, claim.address, claim.domain))
    except InvalidWalletClaim as refused:
        raise InvalidRequest(f"invalid request body: field `filterValue`: {refused}") from None


_FILTERS_BY_CREDENTIAL: Mapping[str, tuple[lookups.AccountLookupKind, Callable[[str], str]]] = {
    "CREDENTIAL_ID": (lookups.LookupKind.CREDENTIAL_ID, normalized_credential_id),
    "PUBLIC_KEY": (lookups.LookupKind.PUBLIC_KEY, normalized_public_key),
    "OAUTH_CLAIM": (lookups.LookupKind.OAUTH_IDENTITY, _oauth_claim),
    "OIDC_CLAIMS": (lookups.LookupKind.OAUTH_IDENTITY, _oidc_claims),
    "WALLET_AUTH_CLAIM": (lookups.LookupKind.WALLET, _wallet_claim),
}
"""By filter type: what is looked up, and what turns a value into the form that is stored."""

_OTHER_FILTERS: Mapping[str, tuple[lookups.LookupKind, Callable[[str], str]]] = {
    "NAME": (lookups.LookupKind.ORGANIZATION_NAME, _unchanged),
    "USERNAME": (lookups.LookupKind.USER_NAME, _unchanged),
    "EMAIL": (lookups.LookupKind.EMAIL, str.lower),
    "PHONE_NUMBER": (lookups.LookupKind.PHONE_NUMBER, without_separators),
    "WALLET_ACCOUNT_ADDRESS": (lookups.LookupKind.WALLET_ACCOUNT_ADDRESS, _unchanged),
}


def looked_up(filter_type: str, value: str) -> tuple[lookups.LookupKind, str]:
    """The kind and the value of the look-up. Raises InvalidRequest for a malformed JSON value."""
    kind, stored_form = _OTHER_FILTERS.get(filter_type) or _FILTERS_BY_CREDENTIAL[filter_type]
    return kind, stored_form(value)


def account_looked_up(filter_type: str, value: str) -> lookups.AccountValue:
    """As `looked_up`, for the filters that find an account by a credential."""
    kind, stored_form = _FILTERS_BY_CREDENTIAL[filter_type]
    return kind, stored_form(value)


def unknown_filter(filter_type: str, expected: tuple[str, ...]) -> InvalidRequest:
    """The refusal of a filter type that is not one of `expected`."""
    return InvalidRequest(
        f"invalid request body: field `filterType`: {filter_type[:64]!r}: expected one of {', '.join(expected)}"
    )
