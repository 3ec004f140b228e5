"""The rules of wallet authenticators: what proves one, uniqueness, how many. Pure.

Here: from the request's parameters to the record. Not here: whether a token is valid
(`operations.logins.wallet_tokens`), the message that a wallet signs (`chains.login_messages`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from keystead.api.errors import AlreadyExists, InvalidRequest, LimitReached
from keystead.api.parameters import WalletAuthenticatorParams
from keystead.api.records import Timestamp, User, WalletAuthenticator
from keystead.chains.wallet_claims import InvalidWalletClaim, wallet_claim
from keystead.organizations.kinds.users import WALLET_AUTHENTICATORS
from keystead.organizations.limits import Limits
from keystead.organizations.lookups import wallet_lookup_value
from keystead.organizations.organization import Organization
from keystead.sessions.wallet_tokens import WalletClaim


def requested_claim(params: WalletAuthenticatorParams, field: str) -> WalletClaim:
    """The wallet that a request names, in the form of the records. Raises InvalidRequest."""
    try:
        return wallet_claim(params.type, params.address, params.domain)
    except InvalidWalletClaim as refused:
        raise InvalidRequest(f"invalid wallet authenticator: field `{field}`: {refused}") from None


def claimed_values(wallets: Iterable[WalletAuthenticatorParams]) -> list[str]:
    """The indexed values of these wallets. Those that are malformed are left out: their request will be refused."""
    values = []
    for params in wallets:
        try:
            values.append(wallet_lookup_value(wallet_claim(params.type, params.address, params.domain)))
        except InvalidWalletClaim:
            continue
    return values


def new_wallet_authenticators(
    claims: Iterable[WalletClaim], new_id: Callable[[], str], now: Timestamp
) -> list[WalletAuthenticator]:
    return [
        WalletAuthenticator(
            wallet_authenticator_id=new_id(),
            type=claim.type,
            address=claim.address,
            domain=claim.domain,
            created_at=now,
            updated_at=now,
        )
        for claim in claims
    ]


def with_wallet_authenticators(
    held: Sequence[WalletAuthenticator], added: Sequence[WalletAuthenticator], limits: Limits
) -> tuple[WalletAuthenticator, ...]:
    """A user's wallet authenticators after the addition. Raises LimitReached."""
    if len(held) + len(added) > limits[WALLET_AUTHENTICATORS]:
        raise LimitReached(
            f"user has exceeded maximum wallet authenticators: {limits[WALLET_AUTHENTICATORS]} are allowed per user"
        )
    return (*held, *added)


def check_wallets_free(organization: Organization, added: Iterable[WalletAuthenticator]) -> None:
    """Raise AlreadyExists if a wallet logs in to the organization at this domain already, or twice among these."""
    seen: set[WalletClaim] = set()
    for authenticator in added:
        claim = claim_of(authenticator)
        if claim in organization.users.by_wallet or claim in seen:
            raise AlreadyExists(
                f"wallet authenticator already exists: {claim.address} logs in at {claim.domain} as a user of this "
                "organization"
            )
        seen.add(claim)


def claim_of(authenticator: WalletAuthenticator) -> WalletClaim:
    return WalletClaim(authenticator.type, authenticator.address, authenticator.domain)


def user_with_wallet(organization: Organization, claim: WalletClaim) -> tuple[User, WalletAuthenticator] | None:
    """The user who logs in with this wallet at this domain, and the record: at most one user does
    (`check_wallets_free`)."""
    holder = organization.users.by_wallet.get(claim)
    if holder is None:
        return None
    user_id, authenticator = holder
    return organization.users[user_id], authenticator
