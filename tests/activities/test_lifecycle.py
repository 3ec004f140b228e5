"""The road of a write, step by step: known or new, in time, allowed, executed, committed."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from keystead.activities.activity import Activity
from keystead.activities.lifecycle import ATTEMPTS
from keystead.activities.requests import Submission
from keystead.activities.store import Commit
from keystead.api.enums import ActivityStatus
from keystead.api.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, Unauthenticated
from keystead.api.identifiers import new_id
from keystead.api.records import User
from keystead.organizations.organization import Version
from tests.activities.road import ORGANIZATION_ID, OTHER, ROOT, Road, a_submission, by_another_process, run
from tests.organizations.records import NOW_MS, an_organization


def test_new() -> None:
    road, submission = Road(), a_submission()
    activity = run(lambda: road.submit(submission))
    (commit,) = road.store.handed_in
    assert commit.activity == activity
    assert (activity.status, activity.type) == (ActivityStatus.COMPLETED, "ACTIVITY_TYPE_CREATE_USER_TAG")
    assert (activity.request, activity.fingerprint) == (submission.request, submission.fingerprint)
    assert [(vote.user_id, vote.message.encode(), vote.signature) for vote in activity.votes] == [
        (ROOT.user_id, submission.request, "3045")
    ]
    assert commit.change is not None
    assert commit.change.after.version == Version(2, activity.id)


def test_known() -> None:
    """However old, whoever sends it, and nothing is handed in."""
    road, submission = Road(an_organization(ROOT, OTHER, organization_id=ORGANIZATION_ID)), a_submission()

    async def test() -> tuple[Activity, Activity]:
        return await road.submit(submission), await road.submit(submission, OTHER)

    first, second = run(test)
    assert first is second
    assert len(road.store.handed_in) == 1


def refused(kind: type[Exception], submission: Submission, road: Road, user: User = ROOT) -> str:
    """Why it is refused; nothing may have been handed in."""
    with pytest.raises(kind) as refusal:
        run(lambda: road.submit(submission, user))
    assert road.store.handed_in == []
    return str(refusal.value)


def test_too_late() -> None:
    assert "`timestampMs`" in refused(InvalidRequest, a_submission(timestampMs=str(NOW_MS - 3_600_000)), Road())


def test_not_allowed() -> None:
    members = replace(
        an_organization(ROOT, OTHER, organization_id=ORGANIZATION_ID).profile.root_quorum, user_ids=(ROOT.user_id,)
    )
    organization = an_organization(ROOT, OTHER, organization_id=ORGANIZATION_ID)
    organization = replace(organization, profile=replace(organization.profile, root_quorum=members))
    refused(PermissionDenied, a_submission(), Road(organization), OTHER)


def test_not_a_user_any_more() -> None:
    assert ROOT.api_keys[0].credential.public_key in refused(
        Unauthenticated, a_submission(), Road(an_organization(OTHER, organization_id=ORGANIZATION_ID))
    )


def test_no_such_organization() -> None:
    assert ORGANIZATION_ID in refused(
        NotFound, a_submission(), Road(an_organization(ROOT, organization_id=new_id()))
    )


def test_waiting_for_others() -> None:
    """Recorded with its vote, and nothing is executed."""
    road = Road(an_organization(ROOT, OTHER, organization_id=ORGANIZATION_ID, threshold=2))
    activity = run(lambda: road.submit(a_submission()))
    assert (activity.status, activity.result, len(activity.votes)) == (ActivityStatus.CONSENSUS_NEEDED, {}, 1)
    assert len(road.store.current.tags) == 0


def test_proofs() -> None:
    road = Road()
    activity = run(lambda: road.submit(a_submission(generateAppProofs=True)))
    (proof,) = activity.app_proofs
    assert json.loads(proof.proof_payload)["type"] == "APP_PROOF_TYPE_POLICY_OUTCOME"
    assert run(lambda: road.submit(a_submission())).app_proofs == ()


def test_somebody_was_faster() -> None:
    """It is judged and executed again, on what the other left."""
    road = Road()
    times = iter([True, True, False])
    road.store.before_commit = lambda _: by_another_process(road.store) if next(times) else None
    activity = run(lambda: road.submit(a_submission()))
    assert [commit.change.before.number for commit in road.store.handed_in] == [1, 2, 3]  # type: ignore[union-attr]
    assert road.store.current.version == Version(4, activity.id)


def test_somebody_is_always_faster() -> None:
    road = Road()
    road.store.before_commit = lambda _: by_another_process(road.store)
    with pytest.raises(Conflict, match="send the same request again"):
        run(lambda: road.submit(a_submission()))
    assert len(road.store.handed_in) == ATTEMPTS


def test_somebody_was_faster_with_the_same_bytes() -> None:
    road, submission = Road(), a_submission()
    theirs = run(lambda: Road().submit(submission))

    def before_commit(_: Commit) -> None:
        road.store.activities[submission.fingerprint] = theirs

    road.store.before_commit = before_commit
    assert run(lambda: road.submit(submission)) is theirs


def test_somebody_with_the_same_bytes_stands_in_the_way() -> None:
    """They come to be known between looking for them and judging: what refuses is what they did themselves."""
    road, submission = Road(), a_submission("once")
    other = Road()
    theirs = run(lambda: other.submit(submission))
    looked = road.store.activity_with_fingerprint

    async def look_too_early(organization_id: str, fingerprint: str) -> Activity | None:
        found = await looked(organization_id, fingerprint)
        road.store.current, road.store.activities = other.store.current, other.store.activities
        return found

    road.store.activity_with_fingerprint = look_too_early  # type: ignore[method-assign]
    assert run(lambda: road.submit(submission)) is theirs
