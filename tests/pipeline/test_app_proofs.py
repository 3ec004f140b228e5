"""The texts of app proofs, byte for byte."""

from __future__ import annotations

import json

from keystead.api.enums import VoteSelection
from keystead.api.records import Timestamp, User, Vote
from keystead.pipeline.execute import address_derivation_payload, policy_outcome_payload


def test_address_derivation() -> None:
    payload = address_derivation_payload(
        timestamp_ms=1758058763571,
        organization_id="3a2de333-972b-45bf-8a7a-83c4167b81e2",
        wallet_id="ad8a06ec-c2f4-55f2-ac43-65991efbfdd1",
        derivation_path="m/44'/60'/0'/0/0",
        address="0xb84b4730Cd81Bc82Ee6B1dE6c343Ebd7928138DC",
    )
    assert payload == (
        '{"type":"APP_PROOF_TYPE_ADDRESS_DERIVATION","timestampMs":"1758058763571","addressDerivationProof":'
        '{"organizationId":"3a2de333-972b-45bf-8a7a-83c4167b81e2","walletId":"ad8a06ec-c2f4-55f2-ac43-65991efbfdd1",'
        '"derivationPath":"m/44\'/60\'/0\'/0/0","address":"0xb84b4730Cd81Bc82Ee6B1dE6c343Ebd7928138DC"}}'
    )


NOW = Timestamp(seconds="1", nanos="0")
USER = User(
    user_id="u",
    user_name="Zoë",
    authenticators=(),
    api_keys=(),
    user_tags=(),
    oauth_providers=(),
    mfa_policies=(),
    created_at=NOW,
    updated_at=NOW,
)


def _vote(number: int, selection: VoteSelection) -> Vote:
    return Vote(
        id=f"vote-{number}",
        user_id="u",
        user=USER,
        activity_id="a",
        selection=selection,
        message=f'{{"name":"Zoë \\"{number}\\""}}',
        public_key=f"02{number}",
        signature=f"30{number}",
        scheme="SIGNATURE_SCHEME_TK_API_P256",
        created_at=NOW,
    )


def test_policy_outcome() -> None:
    payload = policy_outcome_payload(
        timestamp_ms=7,
        organization_id="o",
        outcome="OUTCOME_ALLOW",
        decision_context_digest="aa",
        organization_data_digest="bb",
        parent_organization_data_digest="",
        votes=[
            _vote(1, VoteSelection.APPROVED),
            _vote(2, VoteSelection.REJECTED),
            _vote(3, VoteSelection.APPROVED),
        ],
    )
    assert " " not in payload.replace("Zoë ", "")
    assert json.loads(payload) == {
        "type": "APP_PROOF_TYPE_POLICY_OUTCOME",
        "timestampMs": "7",
        "policyOutcomeProof": {
            "organizationId": "o",
            "outcome": "OUTCOME_ALLOW",
            "decisionContextDigest": "aa",
            "organizationDataDigest": "bb",
            "parentOrganizationDataDigest": "",
            "userRequestApprovals": [
                {
                    "scheme": "SIGNATURE_SCHEME_TK_API_P256",
                    "publicKey": f"02{number}",
                    "message": f'{{"name":"Zoë \\"{number}\\""}}',
                    "signature": f"30{number}",
                }
                for number in (1, 3)
            ],
        },
    }
