"""The look-up of accounts by an authentication proxy: which sub-organization a person already has.

Contacts are personal data. Unless the configuration allows more, a caller must prove a contact to learn whether it
has an account. Not here: the endpoint (`endpoints`).
"""

from __future__ import annotations

import msgspec

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest, Unauthenticated
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import Wire
from keystead.operations.logins.google_linking import linkable_organization
from keystead.operations.suborganization_filters import account_looked_up, unknown_filter
from keystead.organizations.contacts.account_contacts import contact_lookup_kind
from keystead.organizations.contacts.contact_evidence import GOOGLE
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.lookups import AccountValue, LookupKind, identity_lookup_value, wallet_lookup_value
from keystead.organizations.organization import Organization
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Store, suborganization_with
from keystead.sessions.verification_tokens import InvalidVerificationToken, read_verification_token
from keystead.sessions.wallet_tokens import read_wallet_token

_OTP_TYPES = {"EMAIL": OtpType.EMAIL, "PHONE_NUMBER": OtpType.SMS}
_FILTERS = (
    "EMAIL",
    "PHONE_NUMBER",
    "PUBLIC_KEY",
    "CREDENTIAL_ID",
    "OIDC_TOKEN",
    "OIDC_CLAIMS",
    "OAUTH_CLAIM",
    "WALLET_AUTH_TOKEN",
    "WALLET_AUTH_CLAIM",
)


class GetAccountRequest(RequestStruct, frozen=True):
    """`filter_type`: one of _FILTERS. `filter_value` of OIDC_CLAIMS: a JSON object with iss, sub and aud; of
    OAUTH_CLAIM, with issuer, subject and audience; of WALLET_AUTH_CLAIM, with type, address and domain.

    `verification_token` or `oidc_token` prove a contact, `wallet_auth_verification_token` proves a wallet.
    `include_requires_social_linking` is for OIDC_TOKEN.
    """

    filter_type: ShortText
    filter_value: TokenText
    verification_token: TokenText | None = None
    oidc_token: TokenText | None = None
    wallet_auth_verification_token: TokenText | None = None
    include_requires_social_linking: bool | None = None


class GetAccountResponse(Wire, frozen=True):
    """`organization_id` is None if nothing was found. `requires_social_linking`: whether the e-mail address found
    it, and not the identity; set if the request asks."""

    organization_id: str | None = None
    requires_social_linking: bool | None = None


class AccountLookup(msgspec.Struct, frozen=True, kw_only=True):
    """What a look-up needs. `verification_public_key`: SEC 1, the key that verifies verification tokens."""

    organization: Organization
    settings: AuthProxySettings
    store: Store
    identities: Identities
    verification_public_key: bytes
    now_ms: int

    async def answer(self, request: GetAccountRequest) -> GetAccountResponse:
        """The id of the sub-organization, if one is found.

        Raises InvalidRequest. Raises Unauthenticated for a contact that is not proven, and for several
        sub-organizations.
        """
        kind, value = await self._looked_up(request)
        organization_id = await suborganization_with(self.store, self.organization.id, kind, value)
        if request.filter_type != "OIDC_TOKEN":
            return GetAccountResponse(organization_id)
        is_linkable = False
        if organization_id is None:
            proven = await self.identities.verify_token(request.filter_value, "filterValue")
            organization_id = await linkable_organization(self.store, self.organization.id, self.settings, proven)
            is_linkable = organization_id is not None
        return GetAccountResponse(organization_id, is_linkable if request.include_requires_social_linking else None)

    async def _looked_up(self, request: GetAccountRequest) -> AccountValue:
        """The kind of the look-up, and the value."""
        value = request.filter_value
        match request.filter_type:
            case "PUBLIC_KEY" | "CREDENTIAL_ID" | "OIDC_CLAIMS" | "OAUTH_CLAIM" as filter_type:
                return account_looked_up(filter_type, value)
            case "WALLET_AUTH_TOKEN":
                return LookupKind.WALLET, self._proven_wallet(value, "filterValue")
            case "WALLET_AUTH_CLAIM" as filter_type:
                kind, wallet = account_looked_up(filter_type, value)
                self._check_wallet_proven(request, wallet)
                return kind, wallet
            case "OIDC_TOKEN":
                proven = await self.identities.verify_token(value, "filterValue")
                check_audience(proven, self.settings, "filterValue")
                return LookupKind.OAUTH_IDENTITY, identity_lookup_value(proven.iss, proven.aud, proven.sub)
            case "EMAIL" | "PHONE_NUMBER" as filter_type:
                otp_type = _OTP_TYPES[filter_type]
                contact = normalized_contact(otp_type, value)
                await self._check_contact_proven(request, filter_type, contact)
                return contact_lookup_kind(otp_type), contact
            case other:
                raise unknown_filter(other, _FILTERS)

    async def _check_contact_proven(self, request: GetAccountRequest, filter_type: str, contact: str) -> None:
        """Raise Unauthenticated unless a token of the request is about this contact, or none is needed."""
        if request.verification_token:
            self._check_verification_token(request.verification_token, filter_type, contact)
        elif request.oidc_token:
            proven = await self.identities.verify_token(request.oidc_token, "oidcToken")
            linked = (*self.settings.social_linking_client_ids, *self.settings.oauth_client_ids.values())
            if (
                filter_type != "EMAIL"
                or proven.iss != GOOGLE
                or proven.aud not in linked
                or proven.email != contact
            ):
                raise Unauthenticated(
                    "field `oidcToken`: it does not prove `filterValue`: expected a token of Google for a client "
                    "id of this application, with this verified e-mail address"
                )
        elif self.settings.verification_token_required_for_get_account_pii:
            raise Unauthenticated(
                "missing field `verificationToken`: this application says whether a contact has an account only to "
                "a caller who proves the contact"
            )

    def _check_wallet_proven(self, request: GetAccountRequest, wallet: str) -> None:
        """Raise Unauthenticated unless a token of the request is about this wallet, or none is needed.

        `wallet`: an indexed value.
        """
        field = "walletAuthVerificationToken"
        if request.wallet_auth_verification_token:
            if self._proven_wallet(request.wallet_auth_verification_token, field) != wallet:
                raise Unauthenticated(f"field `{field}`: it proves another wallet than `filterValue` names")
        elif self.settings.verification_token_required_for_get_account_pii:
            raise Unauthenticated(
                f"missing field `{field}`: this application says whether a wallet has an account only to a caller "
                "who proves the wallet"
            )

    def _proven_wallet(self, text: str, field: str) -> str:
        """The indexed value of the wallet that a token proves. Raises Unauthenticated."""
        try:
            token = read_wallet_token(text, self.verification_public_key, self.now_ms)
        except InvalidVerificationToken as invalid:
            raise Unauthenticated(f"invalid verification token: field `{field}`: {invalid}") from None
        if token.organization_id != self.organization.id:
            raise Unauthenticated(
                f"invalid verification token: field `{field}`: it was issued in another organization"
            )
        return wallet_lookup_value(token.wallet)

    def _check_verification_token(self, text: str, filter_type: str, contact: str) -> None:
        try:
            token = read_verification_token(text, self.verification_public_key, self.now_ms)
        except InvalidVerificationToken as invalid:
            raise Unauthenticated(f"invalid verification token: {invalid}") from None
        otp_type = _OTP_TYPES[filter_type]
        proven_contact = normalized_contact(otp_type, token.contact)
        if (token.organization_id, token.otp_type, proven_contact) != (self.organization.id, otp_type, contact):
            raise Unauthenticated("invalid verification token: it is for another organization or another contact")


def check_audience(proven: ProvenIdentity, settings: AuthProxySettings, field: str) -> None:
    """Raise InvalidRequest for a token of another application, if the configuration names its own client ids."""
    known = {*settings.oauth_client_ids.values(), *settings.social_linking_client_ids}
    if settings.oauth_client_ids and proven.aud not in known:
        raise InvalidRequest(
            f"invalid OIDC token: field `{field}`: its audience is not a client id of this application; an "
            "operator sets the client ids with keystead auth-proxy update",
            machine_code="INVALID_OIDC_TOKEN",
        )
