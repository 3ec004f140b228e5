"""Queries about an organization: who the caller is, its configuration, its sub-organizations by a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.parameters import Pagination, QueryRequest, ShortText, TokenText
from keystead.api.records import Wire
from keystead.operations.declare import Reading, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.operations.suborganization_filters import looked_up, unknown_filter
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.lookups import LookupKind, identity_lookup_value


class WhoamiRequest(QueryRequest, frozen=True):
    pass


class WhoamiResponse(Wire, frozen=True):
    organization_id: str
    organization_name: str
    user_id: str
    username: str


@query(before_session=True, for_recovery=True, of_caller=True)
def whoami(reading: Reading, _: WhoamiRequest) -> WhoamiResponse:
    """The user whose stamp the request has, and the user's organization."""
    return WhoamiResponse(
        organization_id=reading.organization.id,
        organization_name=reading.organization.profile.name,
        user_id=reading.caller.user.user_id,
        username=reading.caller.user.user_name,
    )


class Feature(Wire, frozen=True):
    name: str
    value: str | None = None


class Quorum(Wire, frozen=True):
    threshold: int
    user_ids: tuple[str, ...]


class Config(Wire, frozen=True):
    features: tuple[Feature, ...]
    quorum: Quorum


class GetOrganizationConfigsRequest(QueryRequest, frozen=True):
    pass


class GetOrganizationConfigsResponse(Wire, frozen=True):
    configs: Config


@query(of_version=True)
def get_organization_configs(reading: Reading, _: GetOrganizationConfigsRequest) -> GetOrganizationConfigsResponse:
    """The organization's features and its root quorum."""
    profile = reading.organization.profile
    return GetOrganizationConfigsResponse(
        configs=Config(features=shown_features(profile.features), quorum=shown_quorum(profile.root_quorum))
    )


def shown_features(features: Mapping[str, str]) -> tuple[Feature, ...]:
    return tuple(Feature(name=name, value=value) for name, value in features.items())


def shown_quorum(quorum: RootQuorum) -> Quorum:
    return Quorum(threshold=quorum.threshold, user_ids=quorum.user_ids)


class GetBootProofRequest(QueryRequest, frozen=True):
    """`ephemeral_key`: an app proof's public key, 130 bytes in hex."""

    ephemeral_key: Annotated[str, Meta(max_length=1024, pattern=NO_CONTROLS)]


class GetBootProofResponse(Wire, frozen=True):
    boot_proof: dict[str, str]


@query()
def get_boot_proof(_: Reading, request: GetBootProofRequest) -> GetBootProofResponse:
    """Always not found: this service does not run on attested hardware."""
    raise NotFound(
        f"no boot proof for ephemeral key {request.ephemeral_key[:140]}: this server runs in no enclave, "
        "so an app proof shows which server answered, not what hardware it is"
    )


class ListSuborgsRequest(QueryRequest, frozen=True):
    """`filter_type`: CREDENTIAL_ID, NAME, USERNAME, EMAIL, PHONE_NUMBER, OIDC_TOKEN, OAUTH_CLAIM,
    WALLET_ACCOUNT_ADDRESS, WALLET_AUTH_CLAIM or PUBLIC_KEY. Without a filter, the answer has all sub-organizations.
    `filter_value` is compared whole; other spellings of the same value are equal to it. An OIDC token must be
    valid. It finds users with an OAuth provider of its issuer, audience and subject; the value of OAUTH_CLAIM is a
    JSON object with these three. The value of WALLET_AUTH_CLAIM is one with type, address and domain of a wallet
    authenticator."""

    filter_type: ShortText | None = None
    filter_value: TokenText | None = None
    pagination_options: Pagination | None = None


class ListSuborgsResponse(Wire, frozen=True):
    organization_ids: tuple[str, ...]


_FILTERS = (
    "CREDENTIAL_ID",
    "NAME",
    "USERNAME",
    "EMAIL",
    "PHONE_NUMBER",
    "WALLET_ACCOUNT_ADDRESS",
    "PUBLIC_KEY",
    "OIDC_TOKEN",
    "OAUTH_CLAIM",
    "WALLET_AUTH_CLAIM",
)


@query()
async def list_suborgs(reading: Reading, request: ListSuborgsRequest) -> ListSuborgsResponse:
    """The ids of all sub-organizations of the organization, or of those that a filter finds, by page."""
    page = page_of(request.pagination_options)
    organization_ids = await reading.store.suborganizations.page(
        reading.organization.id, await _lookup(reading, request), page
    )
    if organization_ids is None:
        raise unknown_cursor(page)
    return ListSuborgsResponse(organization_ids=tuple(organization_ids))


async def _lookup(reading: Reading, request: ListSuborgsRequest) -> tuple[LookupKind, str] | None:
    """The kind and the value of the look-up; None without a filter. Raises InvalidRequest."""
    filter_type, value = request.filter_type or None, request.filter_value
    if filter_type is None:
        if value:
            raise InvalidRequest("invalid request body: field `filterValue` needs a `filterType`")
        return None
    if filter_type not in _FILTERS:
        raise unknown_filter(filter_type, _FILTERS)
    if not value:
        raise InvalidRequest(f"invalid request body: missing field `filterValue` for `filterType` {filter_type}")
    if filter_type == "OIDC_TOKEN":
        proven = await reading.identities.verify_token(value, "filterValue")
        return LookupKind.OAUTH_IDENTITY, identity_lookup_value(proven.iss, proven.aud, proven.sub)
    return looked_up(filter_type, value)


class ListVerifiedSuborgsRequest(QueryRequest, frozen=True):
    """`filter_type`: EMAIL or PHONE_NUMBER."""

    filter_type: ShortText | None = None
    filter_value: TokenText | None = None
    pagination_options: Pagination | None = None


class ListVerifiedSuborgsResponse(Wire, frozen=True):
    organization_ids: tuple[str, ...]


_VERIFIED = {"EMAIL": LookupKind.VERIFIED_EMAIL, "PHONE_NUMBER": LookupKind.VERIFIED_PHONE_NUMBER}


@query()
async def list_verified_suborgs(
    reading: Reading, request: ListVerifiedSuborgsRequest
) -> ListVerifiedSuborgsResponse:
    """The ids of sub-organizations with a verified contact, or with this verified contact, by page."""
    page = page_of(request.pagination_options)
    filter_type, value = request.filter_type or None, request.filter_value
    if filter_type is not None and filter_type not in _VERIFIED:
        raise InvalidRequest(
            f"invalid request body: field `filterType`: {filter_type!r}: expected EMAIL or PHONE_NUMBER"
        )
    if (filter_type is None) != (not value):
        raise InvalidRequest("invalid request body: fields `filterType` and `filterValue` go together")
    lookup = (_VERIFIED[filter_type], looked_up(filter_type, value)[1]) if filter_type and value else None
    organization_ids = await reading.store.suborganizations.page(reading.organization.id, lookup, page)
    if organization_ids is None:
        raise unknown_cursor(page)
    return ListVerifiedSuborgsResponse(organization_ids=tuple(organization_ids))
