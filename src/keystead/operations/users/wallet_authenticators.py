"""Wallet authenticators: wallets with which a user logs in. Attaching them to a user, removing and reading them.

Not here: the proof that a user has a wallet (`logins.wallet_logins`, `logins.wallet_tokens`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, WalletAuthenticatorParams
from keystead.api.records import Timestamp, WalletAuthenticator, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.operations.logins.wallet_tokens import UsedIds, proven_wallets, used_ids
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.credentials.credentials import WALLET_AUTHENTICATORS, check_not_held_by_siblings
from keystead.organizations.credentials.removal import without_credentials
from keystead.organizations.credentials.wallet_authenticators import (
    check_wallets_free,
    new_wallet_authenticators,
    with_wallet_authenticators,
)
from keystead.organizations.kinds.users import Users
from keystead.organizations.lookups import wallet_lookup_value
from keystead.organizations.organization import Put
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output

AT_ONCE = 10
"""Most wallets that one request may attach or detach."""

_FIELD = "parameters.walletAuthenticators"


class CreateWalletAuthenticatorsIntent(RequestStruct, frozen=True):
    """A user of a sub-organization needs a verification token for each wallet."""

    user_id: Uuid
    wallet_authenticators: Annotated[tuple[WalletAuthenticatorParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateWalletAuthenticatorsResult(Wire, frozen=True):
    wallet_authenticator_ids: tuple[str, ...]


class WalletContext(msgspec.Struct, frozen=True):
    """What other organizations have of a request's wallets, and the tokens among its own that were used before."""

    held_by_siblings: HeldBySiblings
    used: UsedIds


async def _context(source: ForeignSource, intent: CreateWalletAuthenticatorsIntent) -> WalletContext:
    wallets = intent.wallet_authenticators
    return WalletContext(
        held_by_siblings=await held_by_siblings(source, wallets=wallets), used=await used_ids(source, wallets)
    )


@activity(
    "ACTIVITY_TYPE_CREATE_WALLET_AUTHENTICATORS",
    owner=named_user,
    load_context=_context,
    adds=lambda _, intent: adding.wallets(intent.wallet_authenticators, intent.user_id),
)
async def create_wallet_authenticators(
    execution: ExecutionWith[WalletContext], intent: CreateWalletAuthenticatorsIntent
) -> Output[CreateWalletAuthenticatorsResult]:
    """Attach wallets to a user, who then logs in by signing a message with one of them."""
    organization, context = execution.organization, execution.context
    user, now = organization.record(Users, intent.user_id), Timestamp.from_ms(execution.now_ms)
    proven = await proven_wallets(
        execution,
        intent.wallet_authenticators,
        _FIELD,
        used=context.used,
        without_tokens=organization.profile.parent_id is None,
    )
    added = new_wallet_authenticators(proven.claims, execution.new_id, now)
    check_wallets_free(organization, added)
    check_not_held_by_siblings(context.held_by_siblings, map(wallet_lookup_value, proven.claims))
    wallets = with_wallet_authenticators(user.wallet_authenticators, added, execution.limits)
    return Output(
        result=CreateWalletAuthenticatorsResult(
            wallet_authenticator_ids=tuple(wallet.wallet_authenticator_id for wallet in added)
        ),
        changes=(Put(replace(user, wallet_authenticators=wallets, updated_at=now)),),
        attachments=proven.uses,
    )


class DeleteWalletAuthenticatorsIntent(RequestStruct, frozen=True):
    user_id: Uuid
    wallet_authenticator_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeleteWalletAuthenticatorsResult(Wire, frozen=True):
    wallet_authenticator_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_WALLET_AUTHENTICATORS", owner=named_user)
def delete_wallet_authenticators(
    execution: Execution, intent: DeleteWalletAuthenticatorsIntent
) -> Output[DeleteWalletAuthenticatorsResult]:
    """Remove wallets from a user. The user must keep a credential that does not expire."""
    user, removed = without_credentials(
        execution.organization,
        intent.user_id,
        WALLET_AUTHENTICATORS,
        intent.wallet_authenticator_ids,
        execution.now_ms,
    )
    return Output(result=DeleteWalletAuthenticatorsResult(wallet_authenticator_ids=removed), changes=(Put(user),))


class GetWalletAuthenticatorsRequest(QueryRequest, frozen=True):
    user_id: Uuid


class GetWalletAuthenticatorsResponse(Wire, frozen=True):
    wallet_authenticators: tuple[WalletAuthenticator, ...]


@query()
def get_wallet_authenticators(
    reading: Reading, request: GetWalletAuthenticatorsRequest
) -> GetWalletAuthenticatorsResponse:
    """The wallets with which a user logs in."""
    user = reading.organization.record(Users, request.user_id)
    return GetWalletAuthenticatorsResponse(wallet_authenticators=user.wallet_authenticators)
