"""The rules of OAuth identities: what proves one, uniqueness, how many. Pure.

Here: from the request's parameters to the record. Not here: whether a token is valid (`identities`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from keystead.api.errors import AlreadyExists, InvalidRequest, LimitReached
from keystead.api.parameters import OauthProviderParamsV2
from keystead.api.records import OauthProvider, Timestamp, User
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds import users
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization


def tokens_of(providers: Iterable[OauthProviderParamsV2], field: str) -> dict[str, str]:
    """The ID tokens of these providers, by the field of each token. `field`: the field of the list."""
    return {
        _token_field(f"{field}[{index}]"): params.oidc_token
        for index, params in enumerate(providers)
        if params.oidc_token is not None
    }


def _token_field(field: str) -> str:
    return f"{field}.oidcToken"


def new_oauth_providers(
    providers: Sequence[OauthProviderParamsV2],
    identities: Mapping[str, ProvenIdentity],
    new_id: Callable[[], str],
    now: Timestamp,
    field: str,
    *,
    claims_vouched: bool = False,
) -> list[OauthProvider]:
    """The records of the OAuth identities that one user gets by one request; `field` is the field of their list.

    An ID token stands for the identity that it proved (`identities`, by field). Bare claims need a proof too: a
    verified token of the same issuer and subject in the same list. With `claims_vouched` they need no proof: a user
    of the parent creates a sub-organization and is responsible for the identities of its users.

    Raises InvalidRequest if a provider has both or neither of token and claims, if a token was not verified, and
    if nothing proves the claims.
    """
    proven = [identities.get(_token_field(f"{field}[{index}]")) for index in range(len(providers))]
    subjects = {(identity.iss, identity.sub) for identity in proven if identity is not None}
    added = []
    for index, (params, from_token) in enumerate(zip(providers, proven, strict=True)):
        place = f"{field}[{index}]"
        if (params.oidc_token is None) == (params.oidc_claims is None):
            raise InvalidRequest(
                f"invalid request: field `{place}`: expected either `oidcToken` or `oidcClaims`, not both"
            )
        claims = params.oidc_claims or from_token
        if claims is None:
            raise InvalidRequest(
                f"invalid OIDC token: field `{_token_field(place)}`: it was not verified when it was submitted",
                machine_code="INVALID_OIDC_TOKEN",
            )
        if from_token is None and not claims_vouched and (claims.iss, claims.sub) not in subjects:
            raise InvalidRequest(
                f"invalid OIDC claims: field `{place}.oidcClaims`: nothing proves them; send an `oidcToken` of the "
                f"same issuer and subject beside them in `{field}`, or let a user of the parent organization name "
                "them when it creates the sub-organization",
                machine_code="INVALID_OIDC_TOKEN",
            )
        added.append(
            OauthProvider(
                provider_id=new_id(),
                provider_name=params.provider_name,
                issuer=claims.iss,
                audience=claims.aud,
                subject=claims.sub,
                created_at=now,
                updated_at=now,
            )
        )
    return added


def with_oauth_providers(
    held: Sequence[OauthProvider], added: Sequence[OauthProvider], limits: Limits
) -> tuple[OauthProvider, ...]:
    """A user's OAuth identities after the addition. Raises LimitReached."""
    if len(held) + len(added) > limits[users.OAUTH_PROVIDERS]:
        raise LimitReached(
            f"user has exceeded maximum oauth providers: {limits[users.OAUTH_PROVIDERS]} are allowed per user"
        )
    return (*held, *added)


def check_identities_free(organization: Organization, providers: Iterable[OauthProvider]) -> None:
    """Raise AlreadyExists if an (issuer, audience, subject) is attached in the organization already."""
    seen: set[tuple[str, str, str]] = set()
    for provider in providers:
        identity = (provider.issuer, provider.audience, provider.subject)
        if identity in organization.users.by_identity or identity in seen:
            raise AlreadyExists(
                f"oauth provider already exists: issuer {provider.issuer!r}, audience {provider.audience!r}, "
                f"subject {provider.subject!r} is attached to a user of this organization",
                machine_code="OAUTH_PROVIDER_ALREADY_EXISTS",
            )
        seen.add(identity)


def user_with_identity(organization: Organization, identity: ProvenIdentity) -> tuple[User, OauthProvider] | None:
    """The user who has this OAuth identity, and its record: at most one user has it (`check_identities_free`)."""
    holder = organization.users.by_identity.get((identity.iss, identity.aud, identity.sub))
    if holder is None:
        return None
    user_id, provider = holder
    return organization.users[user_id], provider
