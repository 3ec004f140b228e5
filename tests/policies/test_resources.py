"""Kind, resource and action of each activity: every type of the public schema has them, or is an exception."""

from __future__ import annotations

import pytest

from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.policies.resources import GOVERNED_KINDS, OWN_RIGHTS, ROOT_ONLY, VOTES, attributes_of

TYPES = sorted(ACTIVITY_TYPES)

OUTSIDE = {
    # types of the schema that no documented resource covers, and that have no public path, no answer or no policy
    "ACCEPT_INVITATION",
    "CREATE_FIAT_OFF_RAMP_SESSION",
    "CREATE_FIAT_ON_RAMP_SESSION",
    "CREATE_ORGANIZATION",
    "DELETE_VELOCITY_CONTROLS",
    "EARN_CLAIM_REWARDS",
    "UPDATE_PAYMENT_METHOD",
    "UPSERT_SWAP_FEE_SPONSORSHIP_LIMIT_CONFIG",
    "UPSERT_SWAP_FIXED_RATE_LIMIT_CONFIG",
    "CLAIM_EARN_FEES",
    "CLAIM_SWAP_FEES",
    "CREATE_SWAP_QUOTE",
    "EARN_DEPLOY_WRAPPER",
    "EARN_DEPOSIT",
    "EARN_SET_WRAPPER_STATE",
    "EARN_WITHDRAW",
    "ETH_SEND_RAW_TRANSACTION",
    "UPSERT_SWAP_CONFIG",
}
RESOURCES = (
    "AUTH AUTH_PROXY CONFIG CREDENTIAL FIAT_TRANSACTION INVITATION MFA_POLICY ON_RAMP_CREDENTIALS ORGANIZATION OTP"
    " PAYMENT_METHOD POLICY PRIVATE_KEY RECOVERY SECRET SESSION_PROFILE SMART_CONTRACT_INTERFACE SPONSORSHIP"
    " SUBSCRIPTION TVC_APP TVC_DEPLOYMENT TVC_OPERATOR TVC_QUORUM_KEY USER VELOCITY_CONTROL WALLET"
    " WEBHOOK_ENDPOINT"
)
ACTIONS = "CREATE UPDATE DELETE SIGN EXPORT IMPORT VERIFY ENCRYPT"


@pytest.mark.parametrize("activity_type", TYPES)
def test_every_activity_type_is_in_exactly_one_table(activity_type: str) -> None:
    stem = activity_type.removeprefix("ACTIVITY_TYPE_").rsplit("_V", 1)
    kind = stem[0] if stem[-1].isdigit() else "_V".join(stem)
    places = [kind in each for each in (GOVERNED_KINDS, ROOT_ONLY, VOTES, OUTSIDE)]
    assert sum(places) == 1
    attributes = attributes_of(activity_type)
    assert (attributes is not None) is (kind in GOVERNED_KINDS or kind in ROOT_ONLY)
    if attributes is not None:
        assert attributes.kind == kind


def test_resources_and_actions_are_the_documented_ones() -> None:
    assert {attributes.resource for attributes in GOVERNED_KINDS.values()} == set(RESOURCES.split())
    assert {attributes.action for attributes in GOVERNED_KINDS.values()} == set(ACTIONS.split())


@pytest.mark.parametrize(
    ("activity_type", "kind", "resource", "action"),
    [
        ("CREATE_SUB_ORGANIZATION_V8", "CREATE_SUB_ORGANIZATION", "ORGANIZATION", "CREATE"),
        ("CREATE_POLICIES", "CREATE_POLICIES", "POLICY", "CREATE"),
        ("SIGN_RAW_PAYLOAD", "SIGN_RAW_PAYLOAD", "PRIVATE_KEY", "SIGN"),
        ("SIGN_RAW_PAYLOAD_V2", "SIGN_RAW_PAYLOAD", "PRIVATE_KEY", "SIGN"),
        ("SIGN_RAW_PAYLOADS", "SIGN_RAW_PAYLOADS", "PRIVATE_KEY", "SIGN"),
        ("SOL_SEND_TRANSACTION_V2", "SOL_SEND_TRANSACTION", "PRIVATE_KEY", "SIGN"),
        ("CREATE_USER_TAG", "CREATE_USER_TAG", "USER", "CREATE"),
        ("VERIFY_OTP_V2", "VERIFY_OTP", "OTP", "VERIFY"),
        ("OAUTH2_AUTHENTICATE", "OAUTH2_AUTHENTICATE", "AUTH", "CREATE"),
        ("CREATE_READ_ONLY_SESSION", "CREATE_READ_ONLY_SESSION", "AUTH", "CREATE"),
        ("RECOVER_USER", "RECOVER_USER", "CREDENTIAL", "CREATE"),
        ("UPDATE_ROOT_QUORUM", "UPDATE_ROOT_QUORUM", "ORGANIZATION", "UPDATE"),
        ("RE_ENCRYPT_TVC_QUORUM_KEY_SHARE", "RE_ENCRYPT_TVC_QUORUM_KEY_SHARE", "TVC_QUORUM_KEY", "ENCRYPT"),
    ],
)
def test_attributes(activity_type: str, kind: str, resource: str, action: str) -> None:
    assert attributes_of(f"ACTIVITY_TYPE_{activity_type}") == (kind, resource, action)


def test_own_rights_are_of_known_kinds() -> None:
    assert set(GOVERNED_KINDS) >= OWN_RIGHTS
