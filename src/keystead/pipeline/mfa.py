"""MFA policies: which one applies to a voter's approval, and which of its steps the voter's proofs meet.

Pure. Not here: the evaluation of conditions (`mfa_conditions`), the statuses of all voters (`mfa_statuses`), how a
method is proved. A stamp proves it, or an identity token or code in the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from keystead.api.enums import AuthenticationType, CredentialType
from keystead.api.records import AuthenticationMethod, MfaPolicy, MfaStatus, RequiredAuthenticationMethod, User
from keystead.pipeline.activity import Proof
from keystead.pipeline.mfa_conditions import MfaConditions

DEFAULT_SESSION_ID = "00000000-0000-0000-0000-000000000000"
"""The profile id that stands for a session without a profile in an authentication method."""


def method_of(proof: Proof) -> AuthenticationMethod | None:
    """The method that a credential proves. A key that a login created proves only a session. A recovery key proves
    nothing."""
    match proof.type:
        case CredentialType.WEBAUTHN_AUTHENTICATOR:
            return AuthenticationMethod(type=AuthenticationType.PASSKEY, id=proof.record_id)
        case CredentialType.API_KEY_P256 | CredentialType.API_KEY_SECP256K1 | CredentialType.API_KEY_ED25519:
            return AuthenticationMethod(type=AuthenticationType.API_KEY, id=proof.record_id)
        case CredentialType.EMAIL_OTP:  # it needs no id: a user has one address and one number
            return AuthenticationMethod(type=AuthenticationType.EMAIL_OTP)
        case CredentialType.SMS_OTP:
            return AuthenticationMethod(type=AuthenticationType.SMS_OTP)
        case CredentialType.OAUTH:
            return AuthenticationMethod(type=AuthenticationType.OAUTH, id=proof.record_id)
        case CredentialType.WALLET:
            return AuthenticationMethod(type=AuthenticationType.WALLET, id=proof.record_id)
        case (
            CredentialType.EMAIL_AUTH_KEY_P256
            | CredentialType.OTP_AUTH_KEY_P256
            | CredentialType.READ_WRITE_SESSION_KEY_P256
            | CredentialType.OAUTH_KEY_P256
            | CredentialType.LOGIN
        ):
            session_id = proof.session_profile_id or DEFAULT_SESSION_ID
            return AuthenticationMethod(type=AuthenticationType.SESSION, id=session_id)
        case CredentialType.RECOVER_USER_KEY_P256:
            return None
        case _:
            assert_never(proof.type)


def in_order(user: User) -> list[MfaPolicy]:
    """The user's MFA policies by their order, the lowest first."""
    return sorted(user.mfa_policies, key=lambda policy: policy.order)


def enforced_policies(user: User, conditions: MfaConditions) -> list[MfaPolicy]:
    """The user's MFA policy of the lowest order whose condition holds; one for each item of a batch, each once.
    Empty if no condition holds."""
    enforced, left = [], conditions.everywhere
    for policy in in_order(user):
        if held := left & conditions.where(policy.condition):
            enforced.append(policy)
            left &= ~held
        if not left:
            break
    return enforced


def policy_status(policy: MfaPolicy, user_id: str, credentials: Sequence[Sequence[Proof]]) -> MfaStatus:
    """How far the user's proofs meet the policy. `credentials`: the proofs of this user that count, those of one
    credential and its sessions together. Together they prove one step."""
    methods = [[method for proof in proofs if (method := method_of(proof)) is not None] for proofs in credentials]
    steps = policy.required_authentication_methods
    met = _matching(steps, methods)
    satisfied = {
        credential: next(method for method in methods[credential] if _meets(method, steps[step]))
        for step, credential in met.items()
    }
    return MfaStatus(
        mfa_policy_id=policy.mfa_policy_id,
        user_id=user_id,
        satisfied=len(met) == len(steps),
        satisfied_methods=tuple(satisfied[credential] for credential in sorted(satisfied)),
        required_methods=steps,
    )


def _matching(
    steps: Sequence[RequiredAuthenticationMethod], credentials: Sequence[Sequence[AuthenticationMethod]]
) -> dict[int, int]:
    """The assignment of as many steps as possible to different credentials, each with the methods that it proves:
    from the index of a step to the index of its credential. It is a maximum bipartite matching by augmenting
    paths."""
    credential_of: dict[int, int] = {}
    step_of: dict[int, int] = {}

    def assign(step: int, tried: set[int]) -> bool:
        for credential, methods in enumerate(credentials):
            if credential in tried or not any(_meets(method, steps[step]) for method in methods):
                continue
            tried.add(credential)
            if credential not in step_of or assign(step_of[credential], tried):
                step_of[credential], credential_of[step] = step, credential
                return True
        return False

    for step in range(len(steps)):
        assign(step, set())
    return credential_of


def _meets(given: AuthenticationMethod, step: RequiredAuthenticationMethod) -> bool:
    return any(given.type is wanted.type and (wanted.id is None or wanted.id == given.id) for wanted in step.any)
