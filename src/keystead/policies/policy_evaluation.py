"""The evaluation of one policy for one request: its outcome, and the clause that determined it.

Not here: how it is computed (`evaluator`, `policy_set`), which policy decides (`authorize`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from keystead.api.enums import Effect
from keystead.policies.language.namespaces import Clause


class EvaluationOutcome(StrEnum):
    """The outcome of one policy. REJECTED and REQUIRES_AUTHENTICATORS occur only in records of votes; `authorize`
    returns the others."""

    ALLOW = "OUTCOME_ALLOW"
    DENY_EXPLICIT = "OUTCOME_DENY_EXPLICIT"
    DENY_IMPLICIT = "OUTCOME_DENY_IMPLICIT"
    REQUIRES_CONSENSUS = "OUTCOME_REQUIRES_CONSENSUS"
    REJECTED = "OUTCOME_REJECTED"
    ERROR = "OUTCOME_ERROR"
    REQUIRES_AUTHENTICATORS = "OUTCOME_REQUIRES_AUTHENTICATORS"
    TIME_INACTIVE = "OUTCOME_TIME_INACTIVE"


class PolicyEvaluation(msgspec.Struct, frozen=True):
    """The evaluation of one policy. `clause`: the clause that is false, unknown or not applicable, or waits for
    approvals; None if all are true.

    `reason`: what the clause names that is unknown, or that the activity does not have; None for any other clause.
    """

    policy_id: str
    effect: Effect
    outcome: EvaluationOutcome
    clause: Clause | None = None
    reason: str | None = None
