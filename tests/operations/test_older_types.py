"""Older activity types: accepted on the same path, echoed as sent, answered under the keys of their own version."""

from __future__ import annotations

import pytest

from keystead.operations import CATALOGUE
from tests.support.callers import SDK_FORM, Caller
from tests.support.operation_examples import SUBMISSIONS
from tests.support.organization_fixtures import RecordIds

KEYS = {
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION": (
        "createReadWriteSessionIntent",
        "createReadWriteSessionResult",
    ),
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2": (
        "createReadWriteSessionIntentV2",
        "createReadWriteSessionResultV2",
    ),
    "ACTIVITY_TYPE_EMAIL_AUTH_V3": ("emailAuthIntentV3", "emailAuthResult"),
    "ACTIVITY_TYPE_EMAIL_AUTH_V2": ("emailAuthIntentV2", "emailAuthResult"),
    "ACTIVITY_TYPE_EMAIL_AUTH": ("emailAuthIntent", "emailAuthResult"),
    "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2": ("initUserEmailRecoveryIntentV2", "initUserEmailRecoveryResult"),
    "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY": ("initUserEmailRecoveryIntent", "initUserEmailRecoveryResult"),
    "ACTIVITY_TYPE_INIT_OTP_V3": ("initOtpIntentV3", "initOtpResultV2"),
    "ACTIVITY_TYPE_INIT_OTP_V2": ("initOtpIntentV2", "initOtpResult"),
    "ACTIVITY_TYPE_INIT_OTP": ("initOtpIntent", "initOtpResult"),
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V3": ("initOtpAuthIntentV3", "initOtpAuthResultV2"),
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V2": ("initOtpAuthIntentV2", "initOtpAuthResultV2"),
    "ACTIVITY_TYPE_INIT_OTP_AUTH": ("initOtpAuthIntent", "initOtpAuthResult"),
    "ACTIVITY_TYPE_OTP_LOGIN_V2": ("otpLoginIntentV2", "otpLoginResult"),
    "ACTIVITY_TYPE_OTP_LOGIN": ("otpLoginIntent", "otpLoginResult"),
    "ACTIVITY_TYPE_VERIFY_OTP_V2": ("verifyOtpIntentV2", "verifyOtpResult"),
    "ACTIVITY_TYPE_VERIFY_OTP": ("verifyOtpIntent", "verifyOtpResult"),
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2": ("createApiKeysIntentV2", "createApiKeysResult"),
    "ACTIVITY_TYPE_CREATE_API_KEYS": ("createApiKeysIntent", "createApiKeysResult"),
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2": ("createAuthenticatorsIntentV2", "createAuthenticatorsResult"),
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS": ("createAuthenticatorsIntent", "createAuthenticatorsResult"),
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2": ("createOauthProvidersIntentV2", "createOauthProvidersResultV2"),
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS": ("createOauthProvidersIntent", "createOauthProvidersResult"),
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2": ("createPrivateKeysIntentV2", "createPrivateKeysResultV2"),
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS": ("createPrivateKeysIntent", "createPrivateKeysResult"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V9": ("createSubOrganizationIntentV9", "createSubOrganizationResultV9"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8": ("createSubOrganizationIntentV8", "createSubOrganizationResultV8"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7": ("createSubOrganizationIntentV7", "createSubOrganizationResultV7"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V6": ("createSubOrganizationIntentV6", "createSubOrganizationResultV6"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V5": ("createSubOrganizationIntentV5", "createSubOrganizationResultV5"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V4": ("createSubOrganizationIntentV4", "createSubOrganizationResultV4"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V3": ("createSubOrganizationIntentV3", "createSubOrganizationResultV3"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V2": ("createSubOrganizationIntentV2", "createSubOrganizationResult"),
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION": ("createSubOrganizationIntent", "createSubOrganizationResult"),
    "ACTIVITY_TYPE_CREATE_USERS_V4": ("createUsersIntentV4", "createUsersResult"),
    "ACTIVITY_TYPE_CREATE_USERS_V3": ("createUsersIntentV3", "createUsersResult"),
    "ACTIVITY_TYPE_CREATE_USERS_V2": ("createUsersIntentV2", "createUsersResult"),
    "ACTIVITY_TYPE_CREATE_USERS": ("createUsersIntent", "createUsersResult"),
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2": ("signRawPayloadIntentV2", "signRawPayloadResult"),
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD": ("signRawPayloadIntent", "signRawPayloadResult"),
    "ACTIVITY_TYPE_SIGN_TRANSACTION_V2": ("signTransactionIntentV2", "signTransactionResult"),
    "ACTIVITY_TYPE_SIGN_TRANSACTION": ("signTransactionIntent", "signTransactionResult"),
    "ACTIVITY_TYPE_UPDATE_POLICY_V2": ("updatePolicyIntentV2", "updatePolicyResultV2"),
    "ACTIVITY_TYPE_UPDATE_POLICY": ("updatePolicyIntent", "updatePolicyResult"),
}
"""Intent and result key of each type of an operation that has several."""


def test_every_operation_of_several_types_is_here() -> None:
    several = {
        name for operation in CATALOGUE if len(operation.activity_types) > 1 for name in operation.activity_types
    }
    assert several <= set(KEYS)


@pytest.mark.parametrize("activity_type", KEYS)
def test_type(activity_type: str, caller: Caller, record_ids: RecordIds) -> None:
    intent_key, result_key = KEYS[activity_type]
    operation = CATALOGUE.of_type(activity_type)
    assert operation is not None
    parameters = SUBMISSIONS[activity_type](record_ids)
    activity = caller.submitted(operation.name, parameters, SDK_FORM, type=activity_type)
    assert activity["type"] == activity_type
    assert activity["intent"] == {intent_key: parameters}
    assert list(activity["result"]) == [result_key]
    assert caller.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"] == activity


def test_an_older_type_makes_what_the_current_one_makes(caller: Caller, record_ids: RecordIds) -> None:
    """A P-256 key, a passkey by its PublicKeyCredential, a tag, an e-mail address."""
    parameters = SUBMISSIONS["ACTIVITY_TYPE_CREATE_USERS"](record_ids)
    made = caller.result("create_users", parameters, type="ACTIVITY_TYPE_CREATE_USERS")
    asked = parameters["users"][0]
    user = caller.asked("get_user", userId=made["userIds"][0])["user"]
    assert user["userEmail"] == asked["userEmail"]
    assert user["userTags"] == asked["userTags"]
    assert user["apiKeys"][0]["credential"]["type"] == "CREDENTIAL_TYPE_API_KEY_P256"
    assert user["authenticators"][0]["credentialId"] == asked["authenticators"][0]["attestation"]["rawId"]
