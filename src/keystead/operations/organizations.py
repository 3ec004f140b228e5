"""The organization itself: who is asking it, and how it is configured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.parameters import Pagination, QueryRequest, ShortText, Token
from keystead.api.records import Wire
from keystead.operations.declare import Reading, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.organizations.contacts import without_separators
from keystead.organizations.lookups import LookupKind, identity_looked_up


class WhoamiRequest(QueryRequest, frozen=True):
    pass


class WhoamiResponse(Wire, frozen=True):
    organization_id: str
    organization_name: str
    user_id: str
    username: str


@query(before_session=True, for_recovery=True, of_caller=True)
def whoami(reading: Reading, _: WhoamiRequest) -> WhoamiResponse:
    """Which user of which organization the stamp proves."""
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
        configs=Config(
            features=tuple(Feature(name=name, value=value) for name, value in profile.features.items()),
            quorum=Quorum(threshold=profile.root_quorum.threshold, user_ids=profile.root_quorum.user_ids),
        )
    )


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
    """`filter_type`: CREDENTIAL_ID, NAME, USERNAME, EMAIL, PHONE_NUMBER, OIDC_TOKEN, WALLET_ACCOUNT_ADDRESS or
    PUBLIC_KEY; without one, all. `filter_value` is compared whole, in any spelling of it; an OIDC token must hold,
    and finds users with an OAuth provider of its issuer, audience and subject."""

    filter_type: ShortText | None = None
    filter_value: Token | None = None
    pagination_options: Pagination | None = None


class ListSuborgsResponse(Wire, frozen=True):
    organization_ids: tuple[str, ...]


_FOUND_BY = {
    "CREDENTIAL_ID": LookupKind.CREDENTIAL_ID,
    "NAME": LookupKind.ORGANIZATION_NAME,
    "USERNAME": LookupKind.USER_NAME,
    "EMAIL": LookupKind.EMAIL,
    "PHONE_NUMBER": LookupKind.PHONE_NUMBER,
    "WALLET_ACCOUNT_ADDRESS": LookupKind.WALLET_ACCOUNT_ADDRESS,
    "PUBLIC_KEY": LookupKind.PUBLIC_KEY,
    "OIDC_TOKEN": LookupKind.OAUTH_IDENTITY,
}

_AS_STORED: dict[str, Callable[[str], str]] = {
    "EMAIL": str.lower,
    "PUBLIC_KEY": lambda key: key.lower().removeprefix("0x"),
    "PHONE_NUMBER": without_separators,
}


@query()
async def list_suborgs(reading: Reading, request: ListSuborgsRequest) -> ListSuborgsResponse:
    """Ids of the organization's sub-organizations, by page; of all, or of those that a value finds."""
    page = page_of(request.pagination_options)
    found = await reading.store.suborganizations(reading.organization.id, await _found_by(reading, request), page)
    if found is None:
        raise unknown_cursor(page)
    return ListSuborgsResponse(organization_ids=tuple(found))


async def _found_by(reading: Reading, request: ListSuborgsRequest) -> tuple[LookupKind, str] | None:
    kind, value = request.filter_type or None, request.filter_value
    if kind is None:
        if value:
            raise InvalidRequest("invalid request body: field `filterValue` needs a `filterType`")
        return None
    if kind not in _FOUND_BY:
        expected = ", ".join(_FOUND_BY)
        raise InvalidRequest(f"invalid request body: field `filterType`: {kind!r}: expected one of {expected}")
    if not value:
        raise InvalidRequest(f"invalid request body: missing field `filterValue` for `filterType` {kind}")
    if kind == "OIDC_TOKEN":
        proven = await reading.identities.proven(value, "filterValue")
        return _FOUND_BY[kind], identity_looked_up(proven.iss, proven.aud, proven.sub)
    as_stored = _AS_STORED.get(kind)
    return _FOUND_BY[kind], as_stored(value) if as_stored else value


class ListVerifiedSuborgsRequest(QueryRequest, frozen=True):
    """`filter_type`: EMAIL or PHONE_NUMBER."""

    filter_type: ShortText | None = None
    filter_value: Token | None = None
    pagination_options: Pagination | None = None


class ListVerifiedSuborgsResponse(Wire, frozen=True):
    organization_ids: tuple[str, ...]


_VERIFIED = {"EMAIL": LookupKind.VERIFIED_EMAIL, "PHONE_NUMBER": LookupKind.VERIFIED_PHONE_NUMBER}


@query()
async def list_verified_suborgs(
    reading: Reading, request: ListVerifiedSuborgsRequest
) -> ListVerifiedSuborgsResponse:
    """Ids of sub-organizations in which this contact of a user was verified, by page; of all without a filter."""
    page = page_of(request.pagination_options)
    kind, value = request.filter_type or None, request.filter_value
    if kind is not None and kind not in _VERIFIED:
        raise InvalidRequest(f"invalid request body: field `filterType`: {kind!r}: expected EMAIL or PHONE_NUMBER")
    if (kind is None) != (not value):
        raise InvalidRequest("invalid request body: fields `filterType` and `filterValue` go together")
    found_by = (_VERIFIED[kind], _AS_STORED[kind](value)) if kind and value else None
    found = await reading.store.suborganizations(reading.organization.id, found_by, page)
    if found is None:
        raise unknown_cursor(page)
    return ListVerifiedSuborgsResponse(organization_ids=tuple(found))
