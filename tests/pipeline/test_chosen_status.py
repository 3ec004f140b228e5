"""The status that a developer chose for a new activity, where a user has an MFA policy that is not met."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import PermissionDenied
from keystead.organizations.organization import Organization
from tests.support.approval_flows import run_steps
from tests.support.organization_harness import OrganizationHarness, Person, public_key
from tests.support.slow_signer import TARGET_KEY

KEY_AND_PASSKEY = [{"any": [{"type": f"AUTHENTICATION_TYPE_{method}"}]} for method in ("API_KEY", "PASSKEY")]
OPEN = [
    ActivityStatus.CREATED,
    ActivityStatus.PENDING,
    ActivityStatus.CONSENSUS_NEEDED,
    ActivityStatus.AUTHENTICATORS_NEEDED,
]


def people_with(chosen: ActivityStatus | None, kind: str) -> OrganizationHarness:
    """A harness where activities of this kind, in any version, get the chosen status."""
    return OrganizationHarness(
        Person("Root", passkey=True),
        Person("Ana", passkey=True),
        root=["Root"],
        chosen_status=lambda type_, _: chosen if type_.startswith(kind) else None,
    )


def mfa_policy(user_id: str, condition: str) -> dict[str, Any]:
    return {
        "userId": user_id,
        "mfaPolicyName": "key and passkey",
        "condition": condition,
        "requiredAuthenticationMethods": KEY_AND_PASSKEY,
        "order": 0,
    }


STORIES = {
    None: "Ana create_wallet: AUTHENTICATORS_NEEDED\nAna/passkey approves: COMPLETED",
    ActivityStatus.COMPLETED: "Ana create_wallet: COMPLETED",
    ActivityStatus.FAILED: "Ana create_wallet: FAILED\nAna/passkey approves: 400",
    ActivityStatus.REJECTED: "Ana create_wallet: REJECTED\nAna/passkey approves: 400",
} | {
    status: f"""
        Ana create_wallet: {status.removeprefix("ACTIVITY_STATUS_")}
        Ana approves: AUTHENTICATORS_NEEDED
        Ana/passkey approves: COMPLETED
        """
    for status in OPEN
}
"""COMPLETED replaces the decision, the proofs included. A later approval is decided by the rules."""


@pytest.mark.parametrize(("chosen", "story"), STORIES.items())
def test_a_user_with_an_mfa_policy(chosen: ActivityStatus | None, story: str) -> None:
    people = people_with(chosen, "ACTIVITY_TYPE_CREATE_WALLET")
    people.policy(condition="activity.resource == 'WALLET'")
    people.result("Root", "create_mfa_policy", mfa_policy(people.user_ids["Ana"], ""))
    run_steps(people, story)
    assert len(people.organization.wallets) == story.count("COMPLETED")


def sub_organization(people: OrganizationHarness, condition: str) -> Organization:
    """A sub-organization whose one user, Sub, has an MFA policy with this condition. It lets users of its parent
    begin sessions."""
    key = {"apiKeyName": "Sub", "publicKey": public_key("Sub"), "curveType": "API_KEY_CURVE_P256"}
    user = {"userName": "Sub", "apiKeys": [key], "authenticators": [], "oauthProviders": []}
    parameters = {"subOrganizationName": "sub", "rootQuorumThreshold": 1, "rootUsers": [user]}
    made = people.result("Root", "create_sub_organization", parameters)
    id_, (user_id,) = made["subOrganizationId"], made["rootUserIds"]
    people.submit("Sub", "create_mfa_policy", mfa_policy(user_id, condition), organizationId=id_)
    people.submit("Sub", "set_organization_feature", {"name": "FEATURE_NAME_PARENT_AUTH"}, organizationId=id_)
    return people.database.organizations[id_]


OF_PARENT: list[tuple[str, ActivityStatus | None, str]] = [
    ("activity.resource == 'AUTH'", None, "an MFA policy of user"),
    ("activity.resource == 'AUTH'", ActivityStatus.COMPLETED, "an MFA policy of user"),
    ("activity.resource == 'WALLET'", None, ""),
    ("activity.resource == 'WALLET'", ActivityStatus.COMPLETED, ""),
    ("activity.resource == 'AUTH'", ActivityStatus.FAILED, ""),
    ("activity.resource == 'AUTH'", ActivityStatus.REJECTED, ""),
    *(("activity.resource == 'WALLET'", status, "cannot wait") for status in OPEN),
]
"""The condition of a user's MFA policy, the choice for a session that the parent gives this user, the refusal."""


@pytest.mark.parametrize(("condition", "chosen", "refusal"), OF_PARENT)
def test_a_user_of_the_parent(condition: str, chosen: ActivityStatus | None, refusal: str) -> None:
    """A choice gives no session without the proofs that the MFA policy of its user asks for."""
    people = people_with(chosen, "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION")
    suborganization = sub_organization(people, condition)
    (user,) = suborganization.users.values()
    session = {"targetPublicKey": TARGET_KEY, "userId": user.user_id}
    body = people.body("create_read_write_session", session, organizationId=suborganization.id)
    submitting = people.sending(people.caller("Root"), "create_read_write_session", body)
    if refusal:
        with pytest.raises(PermissionDenied, match=refusal):
            people.run(submitting)
    else:
        assert people.run(submitting).status == (chosen or ActivityStatus.COMPLETED)
    has_session = not refusal and chosen in (None, ActivityStatus.COMPLETED)
    (after,) = people.database.organizations[suborganization.id].users.values()
    assert len(after.api_keys) == 1 + has_session
    recorded = [activity.type for activity in people.database.activities[suborganization.id].values()]
    assert recorded.count("ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2") == (not refusal)
