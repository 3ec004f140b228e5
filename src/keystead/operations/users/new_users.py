"""The records of users that a request adds, to an organization or to a new sub-organization.

Not here: the operations (`users`, `organizations.sub_organizations`), the rules of each credential
(`organizations`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from keystead.api.enums import TagType
from keystead.api.parameters import OauthProviderParamsV2
from keystead.api.records import Timestamp, User
from keystead.operations.users.sibling_credentials import HeldBySiblings
from keystead.operations.users.user_intents import UserParamsV4
from keystead.organizations.contacts.account_contacts import account_contacts_of, contact_changes
from keystead.organizations.contacts.contact_evidence import ContactEvidence
from keystead.organizations.contacts.contacts import check_email, check_phone_number
from keystead.organizations.credentials import oauth_providers, wallet_authenticators
from keystead.organizations.credentials.api_keys import check_public_keys_free, new_api_key, with_api_keys
from keystead.organizations.credentials.authenticators import (
    check_credential_ids_free,
    check_room_for_authenticators,
    new_authenticator,
)
from keystead.organizations.credentials.credentials import check_not_held_by_siblings
from keystead.organizations.kinds.users import Passkey
from keystead.organizations.lookups import identity_lookup_value, wallet_lookup_value
from keystead.organizations.organization import Change, Put
from keystead.organizations.tags import check_tags
from keystead.organizations.users import check_can_authenticate
from keystead.pipeline.execution import Execution
from keystead.pipeline.operation import THE_SUBMITTER
from keystead.primitives.share import Work
from keystead.sessions.wallet_tokens import WalletClaim


class _OfUser(Protocol):
    @property
    def user_id(self) -> str: ...


def named_user(intent: _OfUser) -> str:
    """The user whom the intent names as `userId`."""
    return intent.user_id


def submitting_user(_: object) -> str:
    """The user who submits the activity."""
    return THE_SUBMITTER


EvidenceOf = Callable[[int, User], Sequence[ContactEvidence]]


def tokens_of_users(providers: Sequence[Sequence[OauthProviderParamsV2]], field: str) -> dict[str, str]:
    """The ID tokens in the providers of each user, by the field that holds the token."""
    return {
        token_field: token
        for index, of_user in enumerate(providers)
        for token_field, token in oauth_providers.tokens_of(of_user, f"{field}[{index}].oauthProviders").items()
    }


async def added_users(
    execution: Execution,
    requested: Sequence[UserParamsV4],
    field: str,
    *,
    evidence_of: EvidenceOf,
    wallets: Sequence[Sequence[WalletClaim]] = (),
    held_by_siblings: HeldBySiblings = frozenset(),
    by_parent: bool = False,
) -> tuple[list[User], tuple[Change, ...]]:
    """The requested users, and the changes that add them. Raises InvalidRequest, NotFound, LimitReached.

    Other requests run between one user and the next, because passkeys take long to verify.
    `evidence_of`: the evidence for the contacts of a user, who has this index in the request.
    `wallets`: of each user, if any user has one. They are proven.
    `by_parent`: the caller is a user of the parent, who makes the sub-organization.
    """
    organization = execution.organization
    organization.users.check_limit(len(requested), execution.limits)
    added = []
    for index, params in enumerate(requested):
        claims = wallets[index] if wallets else ()
        new_user = partial(_new_user, execution, params, claims, f"{field}[{index}]", by_parent=by_parent)
        passkeys_count = len(params.authenticators)
        added.append(await execution.share.run(organization.id, Work.PASSKEYS, new_user, passkeys_count))
    users = [user for user, _ in added]
    contacts: list[Change] = []
    for index, user in enumerate(users):
        evidence = evidence_of(index, user)
        held = account_contacts_of(organization, user, evidence)
        check_can_authenticate(user, held, organization.profile.features, f"{field}[{index}]")
        contacts += contact_changes(organization, user, evidence)
    keys = [key for user in users for key in user.api_keys]
    authenticators = [authenticator for user in users for authenticator in user.authenticators]
    check_public_keys_free(organization, keys)
    check_credential_ids_free(organization, authenticators)
    check_not_held_by_siblings(held_by_siblings, [key.credential.public_key for key in keys])
    check_not_held_by_siblings(held_by_siblings, [authenticator.credential_id for authenticator in authenticators])
    providers = [provider for user in users for provider in user.oauth_providers]
    oauth_providers.check_identities_free(organization, providers)
    identities = [identity_lookup_value(held.issuer, held.audience, held.subject) for held in providers]
    check_not_held_by_siblings(held_by_siblings, identities)
    wallet_authenticators.check_wallets_free(
        organization, [wallet for user in users for wallet in user.wallet_authenticators]
    )
    check_not_held_by_siblings(held_by_siblings, [wallet_lookup_value(claim) for held in wallets for claim in held])
    passkeys = [passkey for _, held in added for passkey in held]
    return users, (*map(Put, users), *map(Put, passkeys), *contacts)


def _new_user(
    execution: Execution, params: UserParamsV4, wallets: Sequence[WalletClaim], field: str, *, by_parent: bool
) -> tuple[User, list[Passkey]]:
    now, limits, new_id = Timestamp.from_ms(execution.now_ms), execution.limits, execution.new_id
    check_room_for_authenticators(0, len(params.authenticators), limits)
    keys = [new_api_key(key, new_id(), now, f"{field}.apiKeys[{i}]") for i, key in enumerate(params.api_keys)]
    registered = [
        new_authenticator(passkey, new_id(), now, f"{field}.authenticators[{i}]")
        for i, passkey in enumerate(params.authenticators)
    ]
    providers = oauth_providers.new_oauth_providers(
        params.oauth_providers,
        execution.identities,
        new_id,
        now,
        f"{field}.oauthProviders",
        claims_vouched=by_parent,
    )
    user = User(
        user_id=new_id(),
        user_name=params.user_name,
        authenticators=tuple(authenticator for authenticator, _ in registered),
        api_keys=with_api_keys((), keys, limits, execution.now_ms),
        user_tags=tuple(dict.fromkeys(params.user_tags)),
        oauth_providers=oauth_providers.with_oauth_providers((), providers, limits),
        mfa_policies=(),
        wallet_authenticators=wallet_authenticators.with_wallet_authenticators(
            (), wallet_authenticators.new_wallet_authenticators(wallets, new_id, now), limits
        ),
        created_at=now,
        updated_at=now,
        user_email=check_email(params.user_email, f"{field}.userEmail") if params.user_email else None,
        user_phone_number=check_phone_number(params.user_phone_number, f"{field}.userPhoneNumber")
        if params.user_phone_number
        else None,
    )
    check_tags(execution.organization, TagType.USER, user.user_tags, f"{field}.userTags")
    return user, [passkey for _, passkey in registered]
