"""MFA policies: which one applies to a voter's approval, and which of its steps the voter's proofs meet.

Pure. Here: the statuses of the voters of one activity, the conditions, evaluated in a bounded number of steps, and
the matching of proofs and methods. Not here: what a missing proof means for the activity (`authorization`), how a
method is proved: a stamp proves it, or an identity token or code in the request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, assert_never

from msgspec.structs import replace

from keystead.api.enums import AuthenticationType, CredentialType
from keystead.api.records import AuthenticationMethod, MfaPolicy, MfaStatus, RequiredAuthenticationMethod, User
from keystead.pipeline.activity import Proof
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.policy_set_cache import evaluated_conditions
from keystead.pipeline.proofs import credentials_that_count
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, Unknown
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.request import condition_values, may_sign_transaction_unseen

CONDITION_STEPS_MAX: Final = 5_000
"""The most steps of evaluating one condition. A condition that takes more is unknown, and therefore holds."""

STEPS_MAX: Final = 100_000
"""The most steps of all conditions together, over all items of a batch. The conditions share them equally."""

_CONDITION_STEPS_MIN: Final = 10
"""If the share of a condition is smaller, no condition is evaluated, and all hold."""

DEFAULT_SESSION_ID = "00000000-0000-0000-0000-000000000000"
"""The profile id that stands for a session without a profile in an authentication method."""


class MfaStatuses:
    """The MFA statuses for one activity, each computed once, when it is asked for.

    The voters are the submitter, whose approval may have lapsed, and every user whose approval counts.
    `further_users`: users who are not voters, and are asked about as well.
    """

    def __init__(self, basis: DecisionBasis, further_users: Iterable[str] = ()) -> None:
        self._basis = basis
        self._voters = list(dict.fromkeys([basis.submitter_id, *[proof.user_id for proof in basis.proofs]]))
        self._users = list(dict.fromkeys([*self._voters, *further_users]))
        self._statuses: dict[str, list[MfaStatus]] = {}

    def lacking(self) -> frozenset[str]:
        """The voters whose approval waits for further proofs by the voter."""
        return frozenset([user_id for user_id in self._voters if self.lacks_proofs(user_id)])

    def of_voters(self) -> list[MfaStatus]:
        return [status for user_id in self._voters for status in self.of(user_id)]

    def of(self, user_id: str) -> list[MfaStatus]:
        """How far this user has met each MFA policy that applies to the activity; empty if no policy applies."""
        if user_id not in self._statuses:
            self._statuses[user_id] = [
                policy_status(policy, user_id, self._credentials(user_id)) for policy in self._applying(user_id)
            ]
        return self._statuses[user_id]

    def lacks_proofs(self, user_id: str) -> bool:
        """Whether this user's approval waits for further proofs by that user."""
        user = self._basis.authority.users.get(user_id)
        if user is None or not user.mfa_policies:
            return False
        return not all(status.satisfied for status in self.of(user_id))

    def with_proofs(self, proofs: tuple[Proof, ...]) -> MfaStatuses:
        """The statuses with these proofs. The conditions are not evaluated again."""
        other = MfaStatuses(replace(self._basis, proofs=proofs), self._users)
        other._evaluated = self._evaluated
        return other

    def _applying(self, user_id: str) -> list[MfaPolicy]:
        user = self._basis.authority.users.get(user_id)
        if user is None or not user.mfa_policies:
            return []
        if any(added.holder == user_id and not added.is_session for added in self._basis.added):
            # With one stolen credential, nobody must be able to add the credentials that prove the other steps.
            return in_order(user)
        return enforced_policies(user, self._conditions)

    def _credentials(self, user_id: str) -> list[list[Proof]]:
        own = [proof for proof in self._basis.proofs if proof.user_id == user_id]
        return credentials_that_count(own, self._basis.submission)

    _evaluated: MfaConditions | None = None

    @property
    def _conditions(self) -> MfaConditions:
        if self._evaluated is None:
            basis = self._basis
            users = [user for id_ in self._users if (user := basis.authority.users.get(id_)) is not None]
            compiled = basis.policies.mfa_conditions
            self._evaluated = MfaConditions(
                {text: compiled[text] for text in evaluated_conditions(users) if text in compiled},
                [condition_values(basis.requested, item) for item in basis.resources.items],
                may_be_transaction=basis.refuses_raw_payloads and may_sign_transaction_unseen(basis.requested),
            )
        return self._evaluated


class MfaConditions:
    """The conditions of the users who approve one activity. Each is evaluated once for each item of a batch.

    A condition that names a keyword which the activity does not have does not hold. A condition that is unknown
    holds.

    `conditions`: by their text. A condition that is not among them holds. `items`: the values of the keywords for
    each item; most activities have one. `may_be_transaction`: the activity signs a raw payload that may be a
    transaction, so every condition about transactions holds.
    """

    def __init__(
        self,
        conditions: Mapping[str, CompiledExpression],
        items: Sequence[Mapping[str, Any]],
        *,
        may_be_transaction: bool = False,
    ) -> None:
        self._conditions = conditions
        self._contexts = [EvaluationContext(values) for values in items]
        self._may_be_transaction = may_be_transaction
        self._budget = Budget(STEPS_MAX)
        share = STEPS_MAX // max(1, len(conditions) * len(items))
        self._steps_max = min(share, CONDITION_STEPS_MAX)
        self._where: dict[str, int] = {}
        self.everywhere = (1 << len(items)) - 1

    def where(self, text: str) -> int:
        """The items for which the condition with this text holds: one bit for each item. An empty condition always
        holds."""
        condition = self._conditions.get(text)
        if condition is None or self._steps_max < _CONDITION_STEPS_MIN:
            return self.everywhere
        if text not in self._where:
            self._where[text] = self._evaluate(condition)
        return self._where[text]

    def _evaluate(self, condition: CompiledExpression) -> int:
        if self._may_be_transaction and condition.names_transactions:
            return self.everywhere
        return sum(self._holds(condition, context) << item for item, context in enumerate(self._contexts))

    def _holds(self, condition: CompiledExpression, context: EvaluationContext) -> bool:
        value = condition.evaluate(context, self._budget, self._steps_max)
        return value is True or isinstance(value, Unknown)


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
