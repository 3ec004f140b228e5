"""The users of the policy tests, and functions that build authorization requests.

Ana and Ben are in OPS, Ben in SEC too, Cy has no tag. Root is the root quorum, one of one, unless a test says
other. Everyone has an API key, Ana a passkey as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from keystead.api.enums import CredentialType, Effect
from keystead.api.records import ApiKey, Authenticator, Credential, Policy, Timestamp, User
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.authorize import Authorizer
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, Value
from keystead.policies.language.expression import Expression, ExpressionSource, compile_stored
from keystead.policies.language.namespaces import Clause
from keystead.policies.policy_set import PolicySet, policy_set
from keystead.policies.request import Approval, AuthorizationRequest, CredentialUsed, RequestedActivity

NOW = "2026-09-09T12:00:00+00:00"
_BORN = Timestamp.from_ms(1_700_000_000_000)


def api_key(user_id: str) -> CredentialUsed:
    return CredentialUsed(id=f"key-{user_id}", type=CredentialType.API_KEY_P256, public_key=f"02{user_id}")


def passkey(user_id: str) -> CredentialUsed:
    return CredentialUsed(
        id=f"passkey-{user_id}",
        type=CredentialType.WEBAUTHN_AUTHENTICATOR,
        public_key=f"cose-{user_id}",
        credential_id=f"credential-{user_id}",
    )


def user(user_id: str, *tags: str, has_passkey: bool = False, expires: str | None = None) -> User:
    return User(
        user_id=user_id,
        user_name=f"name of {user_id}",
        user_tags=tags,
        api_keys=(
            ApiKey(
                credential=Credential(public_key=f"02{user_id}", type=CredentialType.API_KEY_P256),
                api_key_id=f"key-{user_id}",
                api_key_name="key",
                created_at=_BORN,
                updated_at=_BORN,
                expiration_seconds=expires,
            ),
        ),
        authenticators=(
            Authenticator(
                transports=(),
                attestation_type="none",
                aaguid="",
                credential_id=f"credential-{user_id}",
                model="",
                credential=Credential(public_key=f"cose-{user_id}", type=CredentialType.WEBAUTHN_AUTHENTICATOR),
                authenticator_id=f"passkey-{user_id}",
                authenticator_name="passkey",
                created_at=_BORN,
                updated_at=_BORN,
            ),
        )
        if has_passkey
        else (),
        oauth_providers=(),
        mfa_policies=(),
        created_at=_BORN,
        updated_at=_BORN,
    )


ANA, BEN, CY = user("A", "OPS", has_passkey=True), user("B", "OPS", "SEC"), user("C")
ROOTS = [user("R"), user("R1"), user("R2"), user("R3")]
USERS = {each.user_id: each for each in (ANA, BEN, CY, *ROOTS)}
ONE_ROOT = RootQuorum(1, ("R",))
TWO_OF_THREE = RootQuorum(2, ("R1", "R2", "R3"))


def allow(condition: str = "", consensus: str = "", time: str = "") -> Policy:
    return policy(Effect.ALLOW, condition, consensus, time)


def deny(condition: str = "", consensus: str = "", time: str = "") -> Policy:
    return policy(Effect.DENY, condition, consensus, time)


def policy(effect: Effect, condition: str = "", consensus: str = "", time: str = "") -> Policy:
    return Policy(
        policy_id="",
        policy_name="",
        effect=effect,
        created_at=_BORN,
        updated_at=_BORN,
        notes="",
        consensus=consensus,
        condition=condition,
        time=time or None,
    )


def compiled(text: str, clause: Clause = Clause.CONDITION) -> Expression:
    """Raises ExpressionRefused."""
    return Expression(ExpressionSource(text, clause))


def value_of(text: str, values: Mapping[str, Any]) -> Value:
    """The value of a condition over these values by keyword."""
    return compiled(text).evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))


def voters(asked: tuple[AuthorizationRequest, PolicySet]) -> set[str]:
    """Every user who may vote on the activity."""
    authorizer = Authorizer(*asked)
    return {user_id for user_id in asked[0].users if authorizer.may_vote(user_id)}


def numbered(policies: Sequence[Policy]) -> PolicySet:
    """The set of these policies, whose ids are P0, P1, …"""
    return policy_set(
        [replace(each, policy_id=f"P{number}") for number, each in enumerate(policies)], compile_stored
    )


def is_user(user_id: str) -> str:
    return f"approvers.any(u, u.id == '{user_id}')"


def request(
    by: str | Sequence[str | Approval],
    activity: str,
    policies: Sequence[Policy] = (),
    *,
    params: Mapping[str, Any] | None = None,
    resources: Mapping[str, Any] | None = None,
    owner: str | None = None,
    quorum: RootQuorum = ONE_ROOT,
    now: str = NOW,
    users: Mapping[str, User] = USERS,
) -> tuple[AuthorizationRequest, PolicySet]:
    """The request of an activity, named without its prefix, that these users approve, the submitter first; and the
    policies to authorize it by."""
    approvals = [
        Approval(each, api_key(each)) if isinstance(each, str) else each
        for each in ([by] if isinstance(by, str) else by)
    ]
    asked = AuthorizationRequest(
        root_quorum=quorum,
        users=users,
        approvals=approvals,
        submitter_id=approvals[0].user_id,
        activity=RequestedActivity(type=f"ACTIVITY_TYPE_{activity}", params=params or {}),
        now_ms=int(datetime.fromisoformat(now).timestamp() * 1000),
        owner_id=owner,
        resources=resources or {},
    )
    return asked, numbered(policies)
