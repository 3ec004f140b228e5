"""What an app proof states: that an activity was judged, and that an address was derived.

Here: the JSON texts that the proof key signs. Not here: the key and the signature (`keys`).
The proof shows which server answered. It says nothing of the hardware it runs on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from keystead.activities.requests import Submission
from keystead.api.records import WalletAccount
from keystead.api.rendering import encode
from keystead.organizations.organization import Organization


def proof_payloads(
    submission: Submission,
    organization: Organization,
    activity_id: str,
    derived: Sequence[WalletAccount],
    now_ms: int,
) -> list[str]:
    """One policy-outcome payload for the activity, then one address-derivation payload per derived account."""
    decision_context = encode(
        {"activityId": activity_id, "fingerprint": submission.fingerprint, "type": submission.envelope.type}
    )
    version = organization.version
    organization_data = encode(
        {"organizationId": organization.id, "version": version.number, "changedBy": version.changed_by}
    )
    outcome = _payload(
        "APP_PROOF_TYPE_POLICY_OUTCOME",
        now_ms,
        "policyOutcomeProof",
        {
            "organizationId": organization.id,
            "outcome": "OUTCOME_ALLOW",
            "decisionContextDigest": hashlib.sha256(decision_context).hexdigest(),
            "organizationDataDigest": hashlib.sha256(organization_data).hexdigest(),
            "parentOrganizationDataDigest": "",
            "userRequestApprovals": [submission.fingerprint],
        },
    )
    return [outcome] + [
        _payload(
            "APP_PROOF_TYPE_ADDRESS_DERIVATION",
            now_ms,
            "addressDerivationProof",
            {
                "organizationId": organization.id,
                "walletId": account.wallet_id,
                "derivationPath": account.path,
                "address": account.address,
            },
        )
        for account in derived
    ]


def _payload(kind: str, now_ms: int, member: str, statement: dict[str, Any]) -> str:
    return encode({"type": kind, "timestampMs": str(now_ms), member: statement}).decode()
