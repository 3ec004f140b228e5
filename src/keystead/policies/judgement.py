"""May this activity run, given who approves it so far? One pure function, asked again after every vote.

The order of the rules:
 1. enough members of the root quorum approve: allowed, policies unread;
 2. what only the root quorum may do waits for it, or is denied;
 3. a DENY policy applies: denied, whatever else allows;
 4. an ALLOW policy applies: allowed;
 5. an ALLOW policy could apply with more approvals and counts the submitter's: wait;
 6. users may change their own credentials;
 7. a member of the root quorum may wait for the others, in the cases of 3 also;
 8. denied.
Not here: how a denial reads (`denial`), features and standing rules that refuse before any policy (`operations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.expression import Expression
from keystead.policies.facts import Facts
from keystead.policies.hearing import Hearing, Outcome, PolicyEvaluation, contributes_nothing
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
    ROOT_QUORUM_BELOW_THRESHOLD = "a member of the root quorum waits for the others"
    COST = "the policies cost more than a decision may"
    NONE = "nothing allows it"


class Judgement(msgspec.Struct, frozen=True):
    """`policy_ids` are the policies that decided, `evaluations` every policy that was looked at, in order."""

    verdict: Verdict
    rule: Rule
    policy_ids: tuple[str, ...] = ()
    evaluations: tuple[PolicyEvaluation, ...] = ()


def judge(facts: Facts) -> Judgement:
    """What the rules of the organization say of an activity, given who approves it. The order is the module's."""
    quorum = facts.root_quorum
    approving = {approval.user_id for approval in facts.approvals}
    if (allowed := allowed_by_root_quorum(quorum, approving)) is not None:
        return allowed
    member = facts.submitter_id in quorum.user_ids or not approving.isdisjoint(quorum.user_ids)
    # 2
    if activity_kind(facts.activity.type) in ROOT_ONLY:
        return Judgement(Verdict.NEEDS_CONSENSUS if member else Verdict.DENY_IMPLICIT, Rule.ROOT_ONLY)
    hearing = Hearing(facts)

    def judged(verdict: Verdict, rule: Rule, *policy_ids: str) -> Judgement:
        return Judgement(verdict, rule, policy_ids, hearing.evaluations)

    if not hearing.denying and not hearing.costs_too_much:
        # 4
        if allowing := hearing.saying(Outcome.ALLOW):
            return judged(Verdict.ALLOW, Rule.ALLOW_POLICY, *allowing)
        # 5
        if waiting := hearing.saying(Outcome.REQUIRES_CONSENSUS):
            return judged(Verdict.NEEDS_CONSENSUS, Rule.CONSENSUS, *waiting)
        # 6
        if _is_own_right(facts):
            return judged(Verdict.ALLOW, Rule.OWN_RIGHT)
    # 7
    if member:
        return judged(Verdict.NEEDS_CONSENSUS, Rule.ROOT_QUORUM_BELOW_THRESHOLD)
    # 3
    if hearing.denying:
        return judged(Verdict.DENY_EXPLICIT, Rule.DENY_POLICY, *hearing.denying)
    # 8
    return judged(Verdict.DENY_IMPLICIT, Rule.COST if hearing.costs_too_much else Rule.NONE)


def allowed_by_root_quorum(quorum: RootQuorum, approving: set[str]) -> Judgement | None:
    """Rule 1, which looks at nothing but who approves."""
    if len(approving.intersection(quorum.user_ids)) >= quorum.threshold:
        return Judgement(Verdict.ALLOW, Rule.ROOT_QUORUM)
    return None


def lasts(facts: Facts, judgement: Judgement) -> bool:
    """Whether every activity of this type is judged so that the same users submit and approve, with the same
    credentials, about the same resources: nothing of it follows from the parameters, from the moment or from whose
    own credentials are changed."""
    if facts.owner_id is not None:
        return False
    for named, said in zip(facts.policies, judgement.evaluations, strict=False):  # none, where none was asked
        policy = named.policy
        if isinstance(policy.condition, Expression) and "params" in policy.condition.names:
            return False
        if said.outcome in _APPLIES:
            if policy.time is not None:
                return False
        elif not contributes_nothing(policy, said, fail_closed=facts.fail_closed):
            return False
    return True


_APPLIES = (Outcome.ALLOW, Outcome.DENY_EXPLICIT)


def _is_own_right(facts: Facts) -> bool:
    return facts.owner_id == facts.submitter_id and activity_kind(facts.activity.type) in OWN_RIGHTS


def recorded(judgement: Judgement, *, rejected: bool = False, authenticators_needed: bool = False) -> Judgement:
    """The judgement as the record of a vote tells it.

    What would have allowed, now or later, reads REJECTED once somebody rejected; what allows reads
    REQUIRES_AUTHENTICATORS while the voter has methods of authentication left to prove.
    """
    instead: dict[Outcome, Outcome] = {}
    if rejected:
        instead = dict.fromkeys((Outcome.ALLOW, Outcome.REQUIRES_CONSENSUS), Outcome.REJECTED)
    elif authenticators_needed:
        instead = {Outcome.ALLOW: Outcome.REQUIRES_AUTHENTICATORS}
    if not instead:
        return judgement
    evaluations = (replace(each, outcome=instead.get(each.outcome, each.outcome)) for each in judgement.evaluations)
    return replace(judgement, evaluations=tuple(evaluations))


_SEVERITY = (Verdict.DENY_EXPLICIT, Verdict.DENY_IMPLICIT, Verdict.NEEDS_CONSENSUS, Verdict.ALLOW)


def strictest(judgements: Sequence[Judgement]) -> Judgement:
    """One judgement for a batch that runs as a whole or not at all, such as an export of several secrets."""
    return min(judgements, key=lambda judgement: _SEVERITY.index(judgement.verdict))


def may_vote(facts: Facts, user_id: str) -> bool:
    """Whether this user's approval would count towards the activity, so that the user may approve or reject it.

    It counts for members of the root quorum, and for whom the consensus of a policy counts that could still allow.
    """
    return user_id in facts.root_quorum.user_ids or any(True for _ in _voters(facts, [user_id]))


def eligible_voters(facts: Facts) -> frozenset[str]:
    """Every user who may vote on the activity. Asking of one user (`may_vote`) is cheaper."""
    return frozenset((*facts.root_quorum.user_ids, *_voters(facts, facts.users)))


def _voters(facts: Facts, user_ids: Iterable[str]) -> Iterator[str]:
    """Those of these users whom a policy counts."""
    if activity_kind(facts.activity.type) in ROOT_ONLY:
        return
    hearing = Hearing(facts)
    if hearing.denying or hearing.costs_too_much:
        return
    consensuses = hearing.open_consensuses()
    for user_id in user_ids:
        if user_id in facts.users and any(hearing.counts(each, user_id) for each in consensuses):
            yield user_id
