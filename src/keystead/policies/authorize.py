"""May this activity run, given who approves it so far? One pure function, called again after every vote.

The order of the rules:
 0. the session profile of the session that submits it does not cover it: denied;
 1. enough members of the root quorum approve: allowed, no policy is evaluated;
 2. only the root quorum may do this: the activity waits if the submitter or an approver is a member of it;
    otherwise it is denied;
 3. a DENY policy applies or may apply, because something is unknown, or a raw payload is refused: denied, even if
    another policy allows it;
 4. an ALLOW policy applies: allowed;
 5. an ALLOW policy could apply with more approvals, and counts the submitter's approval: the activity waits;
 6. the submitter changes only his or her own credentials or sessions: allowed;
    in the cases of 4 and 6, if the activity adds a credential that the consensus of a policy would count, and no
    approval is by one that it counts: the activity waits if the submitter has such a credential;
 7. the submitter or an approver is a member of the root quorum: the activity waits for the other members, also in
    the cases of 3;
 8. otherwise: denied.
Each item of a batch, such as each secret of an export, is decided on its own by these rules.
Not here: the text of a denial (`denial`), rules that refuse before any policy is evaluated (`operations`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.added_credentials import could_be_approved, policies_without_approval
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.language.evaluation_context import Budget, EvaluationContext
from keystead.policies.policy_evaluation import EvaluationOutcome, PolicyEvaluation
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import Approval, AuthorizationRequest, condition_values
from keystead.policies.resources import OWN_RIGHTS, ROOT_ONLY


class Verdict(Enum):
    ALLOW = "allow"
    NEEDS_CONSENSUS = "needs consensus"
    DENY_IMPLICIT = "deny: nothing allows it"
    DENY_EXPLICIT = "deny: a policy denies it"


class Rule(Enum):
    """Which rule decided."""

    ROOT_QUORUM = "enough members of the root quorum approve"
    ROOT_ONLY = "only the root quorum may do this"
    DENY_POLICY = "a policy denies"
    ALLOW_POLICY = "a policy allows"
    CONSENSUS = "a policy allows once more users approve"
    OWN_RIGHT = "users may change their own credentials"
    ADDED_CREDENTIAL = "a policy would count the credential that it adds, and counts no approval so far"
    ROOT_QUORUM_BELOW_THRESHOLD = "a member of the root quorum waits for the others"
    RAW_PAYLOAD = "raw payloads are refused because policies restrict transactions"
    SESSION_SCOPE = "the session's profile does not cover it"
    COST = "the policies cost more than a decision may"
    NONE = "nothing allows it"


class Decision(msgspec.Struct, frozen=True):
    """The result of `authorize`. `policy_ids`: the policies that decided. `evaluations`: the evaluation of each
    policy, in order; empty if no policy was evaluated. `lacking`: the users whose approval waits for further proofs
    by which an MFA policy of their own is met; `pipeline.authorization` finds them."""

    verdict: Verdict
    rule: Rule
    policy_ids: tuple[str, ...] = ()
    evaluations: tuple[PolicyEvaluation, ...] = ()
    lacking: frozenset[str] = frozenset()

    @property
    def is_denial(self) -> bool:
        return self.verdict in (Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT)


def authorize(request: AuthorizationRequest, policies: PolicySet) -> Decision:
    """Decide whether an activity may run, by the rules of its organization."""
    return Authorizer(request, policies).decision()


class Authorizer:
    """The decision about a request, and about the same request with other approvals: before a vote and with it.

    The policies are evaluated when they are first needed, and after a change of the approvals only their consensus.
    Each item of a batch is decided on its own, and the strictest decision is that of the batch; of several equally
    strict ones, the first. A denial because of the session's scope is the strictest.
    """

    def __init__(self, request: AuthorizationRequest, policies: PolicySet) -> None:
        self._request = request
        self._policies = policies
        self._evaluators: list[PolicyEvaluator] = []

    def with_approvals(self, approvals: Sequence[Approval]) -> Authorizer:
        """The same with these approvals."""
        other = Authorizer(replace(self._request, approvals=approvals), self._policies)
        if self._evaluators:
            of_items = zip(self._evaluators, other._request.items(), strict=True)
            other._evaluators = [evaluator.with_approvals(item) for evaluator, item in of_items]
        return other

    def decision(self) -> Decision:
        decisions = [self._decide(number, item) for number, item in enumerate(self._request.items())]
        if len(decisions) == 1:
            return decisions[0]
        return max(decisions, key=lambda item: (_STRICTNESS.index(item.verdict), item.rule is Rule.SESSION_SCOPE))

    def may_vote(self, user_id: str) -> bool:
        """Whether this user's approval would count towards the activity, so that the user may approve or reject it.

        It counts if the user is a member of the root quorum, or if the consensus of a policy that could still allow
        the activity counts the user.
        """
        request = self._request
        if user_id in request.root_quorum.user_ids:
            return True
        if user_id not in request.users or activity_kind(request.activity.type) in ROOT_ONLY:
            return False
        evaluators = self.evaluators()
        if any(_is_denied(request, evaluator) for evaluator in evaluators):
            return False
        return any(
            evaluator.counts(consensus, user_id)
            for evaluator in evaluators
            for consensus in evaluator.open_consensuses()
        )

    def evaluators(self) -> list[PolicyEvaluator]:
        """The evaluation of the policies for each item."""
        if not self._evaluators:
            self._evaluators = [PolicyEvaluator(item, self._policies) for item in self._request.items()]
        return self._evaluators

    def _decide(self, number: int, request: AuthorizationRequest) -> Decision:
        """The decision about one item by the rules above, in their order."""
        # 0
        if not is_in_scope(request):
            return Decision(Verdict.DENY_EXPLICIT, Rule.SESSION_SCOPE)
        quorum = request.root_quorum
        approving = {approval.user_id for approval in request.approvals}
        # 1
        if is_quorum_met(quorum, approving):
            return ALLOWED_BY_ROOT_QUORUM
        is_member = request.submitter_id in quorum.user_ids or not approving.isdisjoint(quorum.user_ids)
        # 2
        if activity_kind(request.activity.type) in ROOT_ONLY:
            return Decision(Verdict.NEEDS_CONSENSUS if is_member else Verdict.DENY_IMPLICIT, Rule.ROOT_ONLY)
        return _decide_by_policies(request, self._policies, self.evaluators()[number], is_member=is_member)


_STRICTNESS: Final = (
    Verdict.ALLOW,
    Verdict.NEEDS_CONSENSUS,
    Verdict.DENY_IMPLICIT,
    Verdict.DENY_EXPLICIT,
)


def _decide_by_policies(
    request: AuthorizationRequest, policies: PolicySet, evaluator: PolicyEvaluator, *, is_member: bool
) -> Decision:
    """The rules from 3 on. `is_member`: the submitter or an approver is a member of the root quorum."""

    def decision(verdict: Verdict, rule: Rule, *policy_ids: str) -> Decision:
        return Decision(verdict, rule, policy_ids, evaluator.evaluations)

    lacking: list[str] = []
    if not _is_denied(request, evaluator):
        # 4
        allowing = evaluator.policies_with(EvaluationOutcome.ALLOW)
        # 5
        if not allowing and (waiting := evaluator.policies_with(EvaluationOutcome.REQUIRES_CONSENSUS)):
            return decision(Verdict.NEEDS_CONSENSUS, Rule.CONSENSUS, *waiting)
        # 6
        if allowing or _is_own_right(request):
            lacking = policies_without_approval(request, policies)
            if not lacking:
                return decision(Verdict.ALLOW, Rule.ALLOW_POLICY if allowing else Rule.OWN_RIGHT, *allowing)
            if could_be_approved(request, policies):
                return decision(Verdict.NEEDS_CONSENSUS, Rule.ADDED_CREDENTIAL, *lacking)
    # 7
    if is_member:
        return decision(Verdict.NEEDS_CONSENSUS, Rule.ROOT_QUORUM_BELOW_THRESHOLD)
    if lacking:
        return decision(Verdict.DENY_IMPLICIT, Rule.ADDED_CREDENTIAL, *lacking)
    # 3
    if evaluator.denying:
        return decision(Verdict.DENY_EXPLICIT, Rule.DENY_POLICY, *evaluator.denying)
    if request.refuses_raw_payload:
        return decision(Verdict.DENY_IMPLICIT, Rule.RAW_PAYLOAD)
    # 8
    return decision(Verdict.DENY_IMPLICIT, Rule.COST if evaluator.costs_too_much else Rule.NONE)


def is_in_scope(request: AuthorizationRequest) -> bool:
    """Whether the scope of the session is true for the activity. A scope that is unknown is not true."""
    if request.scope is None:
        return True
    return (
        request.scope.evaluate(
            EvaluationContext(condition_values(request.activity, request.resources)), Budget(EXPRESSION_STEPS_MAX)
        )
        is True
    )


def is_quorum_met(quorum: RootQuorum, approving: Set[str]) -> bool:
    """Whether enough members of the root quorum approve to reach its threshold. Rule 1 reads nothing else."""
    return len(approving & set(quorum.user_ids)) >= quorum.threshold


ALLOWED_BY_ROOT_QUORUM: Final = Decision(Verdict.ALLOW, Rule.ROOT_QUORUM)


def _is_denied(request: AuthorizationRequest, evaluator: PolicyEvaluator) -> bool:
    """Rule 3: a DENY policy applies, or the policies cost too much to tell, or the payload is refused."""
    return bool(evaluator.denying) or evaluator.costs_too_much or request.refuses_raw_payload


def _is_own_right(request: AuthorizationRequest) -> bool:
    return request.owner_id == request.submitter_id and activity_kind(request.activity.type) in OWN_RIGHTS
