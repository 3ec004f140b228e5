"""Google linking: a user with a verified Gmail address logs in with Google; the identity is attached to the user.

An authentication proxy attaches it, if its configuration names the client id of the token
(`socialLinkingClientIds`). Not here: what the attachment checks (`users.oauth_providers`), the look-up of accounts
(`auth_proxy.accounts`).
"""

from __future__ import annotations

from keystead.api.enums import OtpType
from keystead.api.errors import AlreadyExists
from keystead.operations.auth_proxy.calls import ProxyCall
from keystead.organizations.contacts.account_contacts import is_verified, users_found_by
from keystead.organizations.credentials.google_accounts import linked_email
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.lookups import LookupKind, identity_lookup_value
from keystead.pipeline.store import Store
from keystead.sessions.session_tokens import is_bound


async def linkable_organization(
    store: Store, parent_id: str, settings: AuthProxySettings, identity: ProvenIdentity
) -> str | None:
    """The id of the one sub-organization with this verified Gmail address; None if the identity is not linked."""
    email = linked_email(identity, settings)
    if email is None:
        return None
    organization_ids = await store.suborganizations.with_value(parent_id, LookupKind.VERIFIED_EMAIL, email)
    return organization_ids[0] if len(organization_ids) == 1 else None


async def link_google(call: ProxyCall, identity: ProvenIdentity, token: str, public_key: str) -> None:
    """Attach the identity that the token proved to the user with its verified address, unless a user has it.

    A token that is not bound to the key of the login attaches nothing, because that login is refused. `public_key`:
    its text, as the request has it. Raises the error that refuses the attachment, such as PermissionDenied if an
    MFA policy of the user applies.
    """
    if not any(is_bound(nonce, None, public_key) for nonce in identity.nonces):
        return
    value = identity_lookup_value(identity.iss, identity.aud, identity.sub)
    if await call.store.suborganizations.with_value(call.organization.id, LookupKind.OAUTH_IDENTITY, value):
        return
    organization_id = await linkable_organization(call.store, call.organization.id, call.settings, identity)
    organization = None if organization_id is None else await call.store.organization(organization_id)
    if organization is None or identity.email is None:
        return
    users = users_found_by(organization, OtpType.EMAIL, identity.email)
    if len(users) != 1 or not is_verified(organization, users[0], OtpType.EMAIL):
        return
    provider = {"providerName": "google", "oidcToken": token}
    parameters = {"userId": users[0].user_id, "oauthProviders": [provider]}
    try:
        await call.submit("ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2", parameters, organization_id=organization.id)
    except AlreadyExists:  # another login was first
        return
