"""Wallet verification tokens in requests: each proves a wallet that becomes a credential of a user, once.

Here: reading the tokens, which wallets need one. Not here: issuing tokens (`wallet_logins`), logins with them
(`server.authentication`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.api.parameters import WalletAuthenticatorParams
from keystead.operations.logins.verification_tokens import issuer_public_key
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.organizations.credentials.wallet_authenticators import requested_claim
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution
from keystead.sessions.verification_tokens import InvalidVerificationToken
from keystead.sessions.wallet_tokens import WalletClaim, WalletToken, claimed_wallet_token_id, read_wallet_token

UsedIds = frozenset[str]
"""The ids of tokens that were used before."""


class ProvenWallets(msgspec.Struct, frozen=True):
    """The wallets of a request, in its order. `uses` are attachments of the output: the uses of their tokens."""

    claims: tuple[WalletClaim, ...] = ()
    uses: tuple[UsedToken, ...] = ()


async def used_ids(source: ForeignSource, wallets: Iterable[WalletAuthenticatorParams]) -> UsedIds:
    """The ids of these wallets' tokens that were used before. The tokens are not verified yet."""
    ids = [claimed_wallet_token_id(params.verification_token) for params in wallets if params.verification_token]
    return frozenset([id_ for id_ in ids if id_ is not None and await source.store.attached.is_token_used(id_)])


async def proven_wallets(
    execution: Execution,
    wallets: Sequence[WalletAuthenticatorParams],
    field: str,
    *,
    used: UsedIds,
    without_tokens: bool,
) -> ProvenWallets:
    """The wallets, each proven by its token. `without_tokens`: whether one may come without.

    `field`: the field of their list. Raises InvalidRequest for a wallet that is malformed or not proven, and for a
    token that is forged, expired, used, of another organization or about another wallet.
    """
    if not wallets:
        return ProvenWallets()
    issuer = await issuer_public_key(execution)
    claims, uses = [], []
    for index, params in enumerate(wallets):
        place = f"{field}[{index}]"
        claim = requested_claim(params, place)
        if params.verification_token:
            token = _verified(execution, params.verification_token, f"{place}.verificationToken", issuer, used)
            if token.wallet != claim:
                raise _invalid(
                    f"{place}.verificationToken",
                    f"it proves that {token.wallet.address} logs in at {token.wallet.domain}, not what the request "
                    "names",
                )
            uses.append(UsedToken(id=token.id, expires_at_ms=token.expires_at_ms))
        elif not without_tokens:
            raise InvalidRequest(
                f"invalid wallet authenticator: missing field `{place}.verificationToken`: nothing proves that the "
                "user has the wallet; send a token of verify_wallet_authenticator, or let a user of the parent "
                "organization name the wallet when it creates the sub-organization"
            )
        claims.append(claim)
    return ProvenWallets(tuple(claims), tuple(uses))


def _verified(execution: Execution, text: str, field: str, issuer: bytes, used: UsedIds) -> WalletToken:
    try:
        token = read_wallet_token(text, issuer, execution.now_ms)
    except InvalidVerificationToken as invalid:
        raise _invalid(field, str(invalid)) from None
    if token.organization_id not in (execution.organization.id, execution.organization.profile.parent_id):
        raise _invalid(field, "it was issued in another organization")
    if token.id in used:
        raise _invalid(field, "it was used before: it makes a wallet the credential of a user once")
    return token


def _invalid(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid verification token: field `{field}`: {why}")
