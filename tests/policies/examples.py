"""The form of a documented example: policies, an activity, and the expected outcomes.

Rows are numbered as in the catalogue of examples that these tests follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keystead.api.records import Policy
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.authorize import Verdict, authorize
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.request import Approval
from tests.support.policy_fixtures import NOW, ONE_ROOT, allow, request

OK, CN = Verdict.ALLOW, Verdict.NEEDS_CONSENSUS
IMPLICIT, EXPLICIT = Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT
ERROR, INACTIVE = EvaluationOutcome.ERROR, EvaluationOutcome.TIME_INACTIVE

SIGN, SIGN_V1 = "SIGN_TRANSACTION_V2", "SIGN_TRANSACTION"
RAW, RAW_V1 = "SIGN_RAW_PAYLOAD_V2", "SIGN_RAW_PAYLOAD"
ALLOW_SIGN = allow("activity.action == 'SIGN'")


@dataclass
class Case:
    """`says`: the outcome of the first policy, if the row has one."""

    row: int
    policies: Sequence[Policy]
    by: str | Sequence[str | Approval]
    activity: str
    expected: Verdict
    says: EvaluationOutcome | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    owner: str | None = None
    quorum: RootQuorum = ONE_ROOT
    now: str = NOW
    note: str = ""

    def __str__(self) -> str:
        by = "+".join(each if isinstance(each, str) else f"{each.user_id}*" for each in self.by)
        return f"{self.row}-{by}-{self.activity}-{self.note or self.expected.name}"

    def check(self) -> None:
        decision = authorize(
            *request(
                self.by,
                self.activity,
                self.policies,
                params=self.params,
                resources=self.resources,
                owner=self.owner,
                quorum=self.quorum,
                now=self.now,
            )
        )
        assert decision.verdict is self.expected, decision
        if self.says is not None:
            assert decision.evaluations[0].outcome is self.says
