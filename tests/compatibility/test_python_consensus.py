"""Approvals through the published Python client: what waits is its typed error, or is polled until others voted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.compatibility.live import Live
from tests.compatibility.test_python_client import api_key, client_with, new_key, sdk, unique

PERMISSION = "You don't have sufficient permissions"


@dataclass(frozen=True)
class Signers:
    """Two users of one tag, and a policy asks both for wallets; `eve` has no tag."""

    ana: Any
    ben: Any
    eve: Any
    user_ids: tuple[str, str]
    policy_id: str


@pytest.fixture(scope="module")
def root(live: Live) -> Any:
    return client_with(live, live.api_public_key, live.api_private_key)


@pytest.fixture(scope="module")
def signers(live: Live, root: Any) -> Iterator[Signers]:
    keys = [new_key() for _ in range(3)]
    users = [
        {"userName": unique("user"), "apiKeys": [api_key(public)], "authenticators": [], "userTags": []}
        | {"oauthProviders": []}
        for public, _ in keys
    ]
    made = root.create_users(sdk().CreateUsersBody(users=users))
    ana, ben, _ = made.userIds
    tag = root.create_user_tag(sdk().CreateUserTagBody(userTagName=unique("signers"), userIds=[ana, ben]))
    policy = root.create_policy(
        sdk().CreatePolicyBody(
            policyName=unique("two signers"),
            effect="EFFECT_ALLOW",
            consensus=f"approvers.filter(user, user.tags.contains('{tag.userTagId}')).count() >= 2",
            condition="activity.kind == 'CREATE_WALLET'",
            notes="",
        )
    )
    first, second, outsider = (client_with(live, *key) for key in keys)
    yield Signers(first, second, outsider, user_ids=(ana, ben), policy_id=policy.policyId)
    root.delete_policy(sdk().DeletePolicyBody(policyId=policy.policyId))


def wallet_body() -> Any:
    return sdk().CreateWalletBody(walletName=unique("wallet"), accounts=[])


def proposed(signers: Signers) -> Any:
    """An activity of Ana's that waits for Ben."""
    with pytest.raises(sdk().TurnkeyActivityConsensusNeededError, match="Consensus needed for activity") as waits:
        signers.ana.create_wallet(wallet_body())
    assert waits.value.activity_status == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    assert waits.value.activity_type == "ACTIVITY_TYPE_CREATE_WALLET"
    return signers.ana.get_activity(sdk().GetActivityBody(activityId=waits.value.activity_id)).activity


def approved(client: Any, fingerprint: str) -> Any:
    return client.approve_activity(sdk().ApproveActivityBody(fingerprint=fingerprint)).activity


def test_policy_reads_as_written(root: Any, signers: Signers) -> None:
    policy = root.get_policy(sdk().GetPolicyBody(policyId=signers.policy_id)).policy
    assert (policy.effect, policy.condition) == ("EFFECT_ALLOW", "activity.kind == 'CREATE_WALLET'")
    listed = [listed.policyId for listed in root.get_policies(sdk().GetPoliciesBody()).policies]
    assert listed.count(signers.policy_id) == 1


def test_approved_by_the_second(root: Any, signers: Signers) -> None:
    waiting = proposed(signers)
    activity = approved(signers.ben, waiting.fingerprint)
    assert (activity.id, activity.status) == (waiting.id, "ACTIVITY_STATUS_COMPLETED")
    assert {vote.userId for vote in activity.votes} == set(signers.user_ids)
    wallet_id = activity.result.createWalletResult.walletId
    assert root.get_wallet(sdk().GetWalletBody(walletId=wallet_id)).wallet.walletId == wallet_id


def test_polled_to_completion(live: Live, signers: Signers) -> None:
    """The client that goes on asking while its activity waits gets the result once Ben has approved."""
    patient = sdk().TurnkeyClient(
        live.base_url,
        signers.ana.stamper,
        live.organization_id,
        consensus_polling=sdk().PollingConfig(interval_ms=50, timeout_ms=20_000),
    )
    made: list[Any] = []
    asking = threading.Thread(target=lambda: made.append(patient.create_wallet(wallet_body())))
    asking.start()
    filters = sdk().GetActivitiesBody(filterByStatus=["ACTIVITY_STATUS_CONSENSUS_NEEDED"])
    while not (waiting := signers.ben.get_activities(filters).activities):
        time.sleep(0.02)
    approved(signers.ben, waiting[0].fingerprint)
    asking.join()
    assert made[0].activity.status == "ACTIVITY_STATUS_COMPLETED"
    assert made[0].walletId == made[0].activity.result.createWalletResult.walletId


def test_rejected_by_the_second(signers: Signers) -> None:
    waiting = proposed(signers)
    body = sdk().RejectActivityBody(fingerprint=waiting.fingerprint)
    assert signers.ben.reject_activity(body).activity.status == "ACTIVITY_STATUS_REJECTED"
    with pytest.raises(sdk().TurnkeyNetworkError, match="already in status ACTIVITY_STATUS_REJECTED") as refused:
        approved(signers.ben, waiting.fingerprint)
    assert refused.value.status_code == 400


def test_others_have_no_vote(signers: Signers) -> None:
    waiting = proposed(signers)
    with pytest.raises(sdk().TurnkeyNetworkError, match=PERMISSION) as refused:
        approved(signers.eve, waiting.fingerprint)
    assert refused.value.status_code == 403
    assert approved(signers.ben, waiting.fingerprint).status == "ACTIVITY_STATUS_COMPLETED"


def test_denied(signers: Signers) -> None:
    with pytest.raises(sdk().TurnkeyNetworkError, match=PERMISSION) as refused:
        signers.eve.create_wallet(wallet_body())
    assert refused.value.status_code == 403


def test_unknown_fingerprint(root: Any) -> None:
    with pytest.raises(sdk().TurnkeyNetworkError, match="No activity found with fingerprint") as refused:
        approved(root, "sha256:" + "0" * 64)
    assert refused.value.status_code == 404
