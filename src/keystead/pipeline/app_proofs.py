"""The statements of app proofs: that policies allowed an activity, and that an address was derived.

Here: the JSON texts; the proof key signs their exact bytes. Not here: the key and the signature (`signer`). A
proof shows which server answered. It does not attest the hardware of the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from keystead.api.enums import VoteSelection
from keystead.api.records import Vote, WalletAccount
from keystead.api.rendering import encode
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity


def app_proof_payloads(
    activity: RecordedActivity, organization: Organization, derived: Sequence[WalletAccount], now_ms: int
) -> list[str]:
    """The statements about an executed activity: that it was allowed, then each derived address.

    The digest of the decision's context covers the activity's id, type and fingerprint. The digest of the
    organization's data covers its id and version. Both can be computed again from the record.
    """
    version = organization.version
    outcome = policy_outcome_payload(
        timestamp_ms=now_ms,
        organization_id=organization.id,
        outcome="OUTCOME_ALLOW",
        decision_context_digest=_digest(
            {"activityId": activity.id, "fingerprint": activity.fingerprint, "type": activity.type}
        ),
        organization_data_digest=_digest(
            {"organizationId": organization.id, "version": version.number, "changedBy": version.changed_by}
        ),
        parent_organization_data_digest="",
        votes=activity.votes,
    )
    return [outcome] + [
        address_derivation_payload(
            timestamp_ms=now_ms,
            organization_id=organization.id,
            wallet_id=account.wallet_id,
            derivation_path=account.path,
            address=account.address,
        )
        for account in derived
    ]


def address_derivation_payload(
    *, timestamp_ms: int, organization_id: str, wallet_id: str, derivation_path: str, address: str
) -> str:
    """This wallet has this address at this path, in the requested spelling. Time in milliseconds since the
    epoch."""
    return _payload(
        "APP_PROOF_TYPE_ADDRESS_DERIVATION",
        timestamp_ms,
        "addressDerivationProof",
        {
            "organizationId": organization_id,
            "walletId": wallet_id,
            "derivationPath": derivation_path,
            "address": address,
        },
    )


def policy_outcome_payload(
    *,
    timestamp_ms: int,
    organization_id: str,
    outcome: str,
    decision_context_digest: str,
    organization_data_digest: str,
    parent_organization_data_digest: str,
    votes: Sequence[Vote],
) -> str:
    """What the policies decided (`outcome`, e.g. OUTCOME_ALLOW), on which data, and who approved.

    Digests are hex. The payload states the approvals among `votes`, in their order, with what the users signed.
    Time in milliseconds since the epoch.
    """
    return _payload(
        "APP_PROOF_TYPE_POLICY_OUTCOME",
        timestamp_ms,
        "policyOutcomeProof",
        {
            "organizationId": organization_id,
            "outcome": outcome,
            "decisionContextDigest": decision_context_digest,
            "organizationDataDigest": organization_data_digest,
            "parentOrganizationDataDigest": parent_organization_data_digest,
            "userRequestApprovals": [
                {
                    "scheme": vote.scheme,
                    "publicKey": vote.public_key,
                    "message": vote.message,
                    "signature": vote.signature,
                }
                for vote in votes
                if vote.selection is VoteSelection.APPROVED
            ],
        },
    )


def _payload(proof_type: str, timestamp_ms: int, member: str, statement: Mapping[str, Any]) -> str:
    payload = {"type": proof_type, "timestampMs": str(timestamp_ms), member: statement}
    return encode(payload).decode()


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(encode(facts)).hexdigest()
