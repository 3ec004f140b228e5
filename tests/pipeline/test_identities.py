"""ID tokens in submissions: verified once, before the submission queues; the proven identities are stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, PermissionDenied, ServiceError, Unavailable
from keystead.identities.issuers import KnownIssuers
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.pipeline.activity import RecordedActivity
from tests.support.hanging import PATIENCE_S
from tests.support.issuers import HOUR_S, ISSUER
from tests.support.organization_harness import DAY_MS, OrganizationHarness, public_key
from tests.support.replay import replayed


class Watched:
    """ISSUER's tokens, counted. With `outage`, its keys cannot be had; with a `gate`, not before that opens."""

    def __init__(self) -> None:
        self.fields: list[str] = []
        self.outage = False
        self.gate: asyncio.Event | None = None
        self.known: KnownIssuers

    async def verify_token(self, token: str, field: str) -> ProvenIdentity:
        self.fields.append(field)
        if self.gate is not None:
            await self.gate.wait()
        if self.outage:
            raise Unavailable("the keys cannot be had now")
        return await self.known.verify_token(token, field)


def harness(threshold: int = 1) -> tuple[OrganizationHarness, Watched]:
    watched = Watched()
    people = OrganizationHarness("R1", "R2", "Ben", root=["R1", "R2"], threshold=threshold, identities=watched)
    watched.known = KnownIssuers(people.clock, {ISSUER.url: ISSUER.key_set()})
    return people, watched


def token(people: OrganizationHarness, **claims: Any) -> str:
    return ISSUER.token(people.clock.ms // 1000, **claims)


def asked(people: OrganizationHarness, *tokens: str) -> dict[str, Any]:
    providers = [{"providerName": "p", "oidcToken": one} for one in tokens]
    return {"userId": people.user_ids["Ben"], "oauthProviders": providers}


def subjects(people: OrganizationHarness) -> list[str]:
    return [provider.subject for provider in people.user("Ben").oauth_providers]


def test_what_counts_is_the_submission() -> None:
    """Approved twenty hours after the token expired, with the issuer out of reach."""
    people, watched = harness(threshold=2)
    activity = people.submit("R1", "create_oauth_providers", asked(people, token(people, sub="ada")))
    assert activity.status is ActivityStatus.CONSENSUS_NEEDED
    assert subjects(people) == []
    people.clock.ms += 20 * HOUR_S * 1000
    watched.outage = True
    assert people.seen("R2", activity).can_approve
    assert people.approve("R2", activity).status is ActivityStatus.COMPLETED
    assert subjects(people) == ["ada"]
    assert len(watched.fields) == 1


def test_lapsed_approvals_do_not_remove_verified_tokens() -> None:
    people, _ = harness(threshold=2)
    activity = people.submit("R1", "create_oauth_providers", asked(people, token(people, sub="ada")))
    people.clock.ms += DAY_MS
    people.approve("R2", activity)
    assert people.approve("R1", activity).status is ActivityStatus.COMPLETED
    assert subjects(people) == ["ada"]


def test_the_same_bytes_again() -> None:
    """Have their one activity, though their token has expired and its issuer is out of reach."""
    people, watched = harness()
    body = people.body("create_oauth_providers", asked(people, token(people)))
    activity = people.send("R1", "create_oauth_providers", body)
    people.clock.ms += 2 * HOUR_S * 1000
    watched.outage = True
    assert people.send("R1", "create_oauth_providers", body) == activity
    assert people.run(people.sending(people.caller("R1"), "create_oauth_providers", body)) == activity
    assert len(watched.fields) == len(people.activities()) == 1


def test_an_outage_changes_nothing() -> None:
    people, watched = harness()
    before, watched.outage = people.organization, True
    body = people.body("create_oauth_providers", asked(people, token(people)))
    with pytest.raises(Unavailable):
        people.send("R1", "create_oauth_providers", body)
    assert people.organization is before
    assert people.database.log == []
    watched.outage = False
    assert people.send("R1", "create_oauth_providers", body).status is ActivityStatus.COMPLETED


def test_a_slow_issuer_delays_no_other_request() -> None:
    people, watched = harness()

    async def both() -> tuple[RecordedActivity, RecordedActivity]:
        watched.gate = asyncio.Event()
        body = people.body("create_oauth_providers", asked(people, token(people)))
        slow = asyncio.create_task(people.sending(people.caller("R1"), "create_oauth_providers", body))
        again = asyncio.create_task(people.sending(people.caller("R1"), "create_oauth_providers", body))
        await asyncio.sleep(0)
        wallet = people.body("create_wallet", {"walletName": "w", "accounts": []})
        quick = await asyncio.wait_for(people.sending(people.caller("R2"), "create_wallet", wallet), PATIENCE_S)
        assert not slow.done()
        watched.gate.set()
        assert await slow == await again
        return quick, await slow

    quick, slow = people.run(both())
    assert {quick.status, slow.status} == {ActivityStatus.COMPLETED}
    assert len(watched.fields) == 1


def test_many_tokens_each_in_its_place() -> None:
    people, watched = harness()
    ada, eve = token(people, sub="ada"), token(people, sub="eve", aud="another")
    user = {"userName": "new", "apiKeys": [], "authenticators": [], "userTags": []}
    users = [user | {"oauthProviders": [{"providerName": "p", "oidcToken": one}]} for one in (ada, eve)]
    made = people.result("R1", "create_users", {"users": users})["userIds"]
    held = [people.organization.users[user_id].oauth_providers[0] for user_id in made]
    assert [(one.issuer, one.subject, one.audience) for one in held] == [
        (ISSUER.url, "ada", "client-of-the-tests"),
        (ISSUER.url, "eve", "another"),
    ]
    assert watched.fields == [f"parameters.users[{index}].oauthProviders[0].oidcToken" for index in (0, 1)]


def test_the_same_token_is_verified_once() -> None:
    """And so refused at once, however often it is there."""
    people, watched = harness()
    with pytest.raises(ServiceError, match="already exists"):
        people.submit("R1", "create_oauth_providers", asked(people, *[token(people)] * 10))
    assert len(watched.fields) == 1


def test_a_sub_organizations_root_user() -> None:
    people, _ = harness()
    user = {"userName": "Ada", "apiKeys": [], "authenticators": []}
    provider = {"providerName": "p", "oidcToken": token(people, sub="ada")}
    parameters = {
        "subOrganizationName": "sub",
        "rootUsers": [user | {"oauthProviders": [provider]}],
        "rootQuorumThreshold": 1,
    }
    made = people.result("R1", "create_sub_organization", parameters)
    sub = people.database.organizations[made["subOrganizationId"]]
    (held,) = sub.users[made["rootUserIds"][0]].oauth_providers
    assert (held.issuer, held.subject) == (ISSUER.url, "ada")


def test_a_user_who_may_not_vote_is_denied() -> None:
    people, _ = harness()
    parameters = asked(people, token(people)) | {"userId": people.user_ids["R1"]}
    with pytest.raises(PermissionDenied):
        people.submit("Ben", "create_oauth_providers", parameters)
    people.submit("Ben", "create_oauth_providers", asked(people, token(people)))
    assert subjects(people) == ["somebody"]


def test_a_stale_request_causes_no_request_to_an_issuer() -> None:
    people, watched = harness()
    body = people.body("create_oauth_providers", asked(people, token(people)))
    people.clock.ms += DAY_MS
    with pytest.raises(InvalidRequest, match="timestampMs"):
        people.send("R1", "create_oauth_providers", body)
    assert watched.fields == []


def test_a_request_without_tokens_causes_no_request() -> None:
    people, watched = harness()
    key = {"apiKeyName": "k", "publicKey": public_key("k"), "curveType": "API_KEY_CURVE_P256"}
    people.submit("R1", "create_api_keys", {"userId": people.user_ids["Ben"], "apiKeys": [key]})
    claims = {"iss": "https://i", "sub": "s", "aud": "a"}
    by_claims = asked(people) | {"oauthProviders": [{"providerName": "p", "oidcClaims": claims}]}
    with pytest.raises(InvalidRequest, match="nothing proves them"):
        people.submit("R1", "create_oauth_providers", by_claims)
    assert watched.fields == []


def test_the_record_alone_tells_what_was_attached() -> None:
    """Replayed without any issuer."""
    people, _ = harness()
    people.submit("R1", "create_oauth_providers", asked(people, token(people, sub="ada")))
    evaluations = people.database.evaluations[people.id]
    again, _ = people.run(replayed(people.first_version, people.activities(), evaluations, people.limits))
    assert again == people.organization


def test_others_run_between_two_tokens() -> None:
    """A request may bring a thousand, each of which takes a tenth of a millisecond to verify."""
    people, watched = harness()
    verified: list[int] = []
    """How many tokens had been verified, each time that another task ran."""

    async def both() -> None:
        tokens = [token(people, sub=str(number)) for number in range(10)]
        body = people.body("create_oauth_providers", asked(people, *tokens))
        sending = asyncio.ensure_future(people.sending(people.caller("R1"), "create_oauth_providers", body))
        while not sending.done():
            verified.append(len(watched.fields))
            await asyncio.sleep(0)
        await sending

    people.run(both())
    assert set(range(1, 11)) <= set(verified)
