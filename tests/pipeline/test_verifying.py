"""A stored vote can be verified again from the record alone."""

from __future__ import annotations

import pytest

from keystead.api.enums import CredentialType
from keystead.api.errors import Unauthenticated
from keystead.api.records import Vote
from keystead.organizations.principals import ProvenKey, principal_in
from keystead.pipeline.activity import RecordedActivity
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, generate_api_key
from tests.support.organization_harness import OrganizationHarness, encoded


def stamped(harness: OrganizationHarness, key: ApiKeyPair, name: str, body: bytes) -> RecordedActivity:
    """The activity of a request that is really stamped."""
    _, header = ApiKeyStamper(key.public_key, key.private_key, key.curve).stamp(body)
    stamp = read_stamp(header)
    verify_stamp(stamp, body)
    proven = ProvenKey(
        public_key=stamp.public_key,
        signature=stamp.signature,
        scheme=stamp.scheme,
        credential_types=frozenset(CredentialType),
    )
    caller = principal_in(harness.organization, proven, harness.clock.ms)
    assert caller is not None
    return harness.run(harness.sending(caller, name, body))


def verify(vote: Vote, message: bytes) -> None:
    record = {"publicKey": vote.public_key, "signature": vote.signature, "scheme": vote.scheme}
    verify_stamp(read_stamp(encode_base64url(encoded(record))), message)


def test_submitter_approver_rejecter() -> None:
    harness = OrganizationHarness("R1", "R2", root=["R1", "R2"], threshold=2)
    keys = {"R1": generate_api_key(), "R2": generate_api_key()}
    for name, key in keys.items():
        params = {"apiKeyName": "real", "publicKey": key.public_key, "curveType": "API_KEY_CURVE_P256"}
        harness.result(name, "create_api_keys", {"userId": harness.user_ids[name], "apiKeys": [params]})
    for vote_name in ("approve_activity", "reject_activity"):
        body = harness.body("create_wallet", {"walletName": vote_name, "accounts": []})
        activity = stamped(harness, keys["R1"], "create_wallet", body)
        cast = harness.body(vote_name, {"fingerprint": activity.fingerprint})
        activity = stamped(harness, keys["R2"], vote_name, cast)
        assert [vote.message.encode() for vote in activity.votes] == [body, cast]
        for vote in activity.votes:
            verify(vote, vote.message.encode())
            with pytest.raises(Unauthenticated):
                verify(vote, vote.message.encode() + b" ")
