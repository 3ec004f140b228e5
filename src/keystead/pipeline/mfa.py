"""Which further proofs an MFA policy of a voter asks for, and whether they have been given.

Here: the choice of the policy, and the match of proofs to steps. Pure. Not here: how a method is proved; so far a
stamp by a long-lived API key, by a session's key or by a passkey proves one, and the others wait for the logins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keystead.api.enums import AuthenticationType, CredentialType
from keystead.api.records import AuthenticationMethod, MfaPolicy, MfaStatus, RequiredAuthenticationMethod, User
from keystead.pipeline.activity import Proof
from keystead.policies.expression import compile_expression
from keystead.policies.frame import EvaluationError, Frame
from keystead.policies.namespaces import Clause
from keystead.policies.syntax import ExpressionRefused

DEFAULT_SESSION_ID = "00000000-0000-0000-0000-000000000000"
"""Stands for a session without a profile, where a method names one."""

_METHOD_OF = {
    CredentialType.WEBAUTHN_AUTHENTICATOR: AuthenticationType.PASSKEY,
    CredentialType.API_KEY_P256: AuthenticationType.API_KEY,
    CredentialType.API_KEY_SECP256K1: AuthenticationType.API_KEY,
    CredentialType.API_KEY_ED25519: AuthenticationType.API_KEY,
}


def method_of(proof: Proof) -> AuthenticationMethod:
    """The method that a credential proves. Keys that a login made prove a session, nothing else."""
    kind = _METHOD_OF.get(proof.type, AuthenticationType.SESSION)
    record_id = DEFAULT_SESSION_ID if kind is AuthenticationType.SESSION else proof.record_id
    return AuthenticationMethod(type=kind, id=record_id)


def enforced(user: User, condition_values: Mapping[str, Any], *, fail_closed: bool = False) -> MfaPolicy | None:
    """The user's MFA policy of the lowest order whose condition is true; None if none is.

    A condition that fails is not true: it may speak of parameters that this activity does not have. `fail_closed`:
    it is true, unless it is certainly false.
    """
    for policy in sorted(user.mfa_policies, key=lambda one: one.order):
        if _holds(policy.condition, condition_values, fail_closed=fail_closed):
            return policy
    return None


def _holds(condition: str, values: Mapping[str, Any], *, fail_closed: bool) -> bool:
    if not condition:
        return True
    try:
        expression = compile_expression(condition, Clause.CONDITION)
    except ExpressionRefused:
        return False
    result = expression.weigh_in(Frame(values)) if fail_closed else expression.evaluate(values)
    return fail_closed if isinstance(result, EvaluationError) else bool(result)


def status(policy: MfaPolicy, user_id: str, proofs: Sequence[Proof]) -> MfaStatus:
    """How far the user's proofs meet the policy. One credential proves one step."""
    proved = list(dict.fromkeys(method_of(proof) for proof in proofs if proof.user_id == user_id))
    met = _matching(policy.required_authentication_methods, proved)
    return MfaStatus(
        mfa_policy_id=policy.mfa_policy_id,
        user_id=user_id,
        satisfied=len(met) == len(policy.required_authentication_methods),
        satisfied_methods=tuple(proved[index] for index in sorted(met.values())),
        required_methods=policy.required_authentication_methods,
    )


def _matching(
    steps: Sequence[RequiredAuthenticationMethod], proved: Sequence[AuthenticationMethod]
) -> dict[int, int]:
    """The largest assignment of proofs to steps, by augmenting paths: {step: proof}."""
    proof_of: dict[int, int] = {}
    step_of: dict[int, int] = {}

    def assign(step: int, tried: set[int]) -> bool:
        for proof, method in enumerate(proved):
            if proof in tried or not any(_meets(method, wanted) for wanted in steps[step].any):
                continue
            tried.add(proof)
            if proof not in step_of or assign(step_of[proof], tried):
                step_of[proof], proof_of[step] = step, proof
                return True
        return False

    for step in range(len(steps)):
        assign(step, set())
    return proof_of


def _meets(given: AuthenticationMethod, wanted: AuthenticationMethod) -> bool:
    return given.type is wanted.type and (wanted.id is None or wanted.id == given.id)
