"""Logins by one-time code: otp_login takes a verification token, the older otp_auth takes the code itself.

Not here: verification tokens (`verifying_codes`, `verification_tokens`), the session after the user is known
(`session_keys`).
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from keystead.api.decoding import Label
from keystead.api.enums import CredentialType, OtpType
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import User, Wire
from keystead.operations.declare import activity, older
from keystead.operations.logins.session_keys import (
    SessionContext,
    begin_bundle_session,
    begin_login_session,
    compressed_public_key,
    session_context,
)
from keystead.operations.logins.verification_tokens import (
    ClientSignature,
    check_login,
    is_used_up,
    proven_token,
    used_token_rows,
)
from keystead.operations.logins.verifying_codes import (
    OtpCode,
    StoredCode,
    counted_attempt,
    refused_attempt,
    stored_code,
    used_code_rows,
)
from keystead.operations.users import added_credentials as adding
from keystead.organizations.contacts.account_contacts import (
    NOT_AN_ACCOUNT,
    check_logins_by_code,
    contact_changes,
    contact_lookup_kind,
    has_contact,
    users_found_by,
)
from keystead.organizations.contacts.contact_evidence import ContactEvidence, of_token, of_used_code
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.credentials.credentials import registered_credential_ids
from keystead.organizations.lookups import AccountValue
from keystead.organizations.organization import Change
from keystead.organizations.principals import contact_id
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output, RefusalWithRows
from keystead.pipeline.operation import AddedCredential, ByParent, KnownBefore, UserProof
from keystead.sessions.verification_tokens import claimed_contact


class OtpLoginIntentV2(RequestStruct, frozen=True, kw_only=True):
    """`public_key`: the session's key, P-256 in hex. `expiration_seconds` is 900 if absent."""

    verification_token: TokenText
    public_key: ShortText
    client_signature: ClientSignature
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    session_profile_id: ShortText | None = None


class OtpLoginIntent(RequestStruct, frozen=True, kw_only=True):
    """`client_signature`: needed if the verification token names a key."""

    verification_token: TokenText
    public_key: ShortText
    client_signature: ClientSignature | None = None
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    session_profile_id: ShortText | None = None


class _MaybeUnsigned(OtpLoginIntentV2, frozen=True, kw_only=True):
    """A request of the older version, in which the client signature is optional."""

    client_signature: ClientSignature | None  # type: ignore[assignment] # the older version has it optional


class OtpLoginResult(Wire, frozen=True):
    """`session`: a JWT that describes the session."""

    session: str


class OtpAuthIntent(RequestStruct, frozen=True, kw_only=True):
    """`target_public_key`: the P-256 key to which the session's key is sealed."""

    otp_id: Uuid
    otp_code: OtpCode
    target_public_key: ShortText
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None


class OtpAuthResult(Wire, frozen=True):
    user_id: str
    api_key_id: str
    credential_bundle: str


def _from_v1(intent: OtpLoginIntent) -> OtpLoginIntentV2:
    return _MaybeUnsigned(
        verification_token=intent.verification_token,
        public_key=intent.public_key,
        client_signature=intent.client_signature,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        session_profile_id=intent.session_profile_id,
    )


class OtpLoginContext(msgspec.Struct, frozen=True):
    """`begins`: what the new session needs. `is_used_up`: the verification token is good for one use, and was
    used; or the signed message was."""

    begins: SessionContext
    is_used_up: bool


async def _login_context(source: ContextSource, intent: OtpLoginIntentV2) -> OtpLoginContext:
    session = await session_context(source, intent.public_key, intent.session_profile_id)
    return OtpLoginContext(session, await is_used_up(source, intent.verification_token, intent.client_signature))


def _user_lookup(intent: OtpLoginIntentV2) -> AccountValue | None:
    claimed = claimed_contact(intent.verification_token)
    if claimed is None:
        return None
    otp_type, contact = claimed
    return contact_lookup_kind(otp_type), normalized_contact(otp_type, contact)


def _added_by_login(known: KnownBefore, intent: OtpLoginIntentV2) -> list[AddedCredential]:
    claimed = claimed_contact(intent.verification_token)
    session = adding.session(CredentialType.LOGIN, None, intent.public_key)
    return [*session, *(_added_contact(known, *claimed) if claimed is not None else ())]


def _added_contact(known: KnownBefore, otp_type: OtpType, contact: str) -> list[AddedCredential]:
    """The contact, if the login proves one that the submitter wrote and that finds nobody so far."""
    organization, user = known.organization, known.organization.users.get(known.submitter_id)
    contact = normalized_contact(otp_type, contact)
    if user is None or users_found_by(organization, otp_type, contact) or not has_contact(user, otp_type, contact):
        return []
    match otp_type:
        case OtpType.EMAIL:
            return adding.contacts(user.user_id, user.user_email, None)
        case OtpType.SMS:
            return adding.contacts(user.user_id, None, user.user_phone_number)
        case _:
            assert_never(otp_type)


@activity(
    "ACTIVITY_TYPE_OTP_LOGIN_V2",
    accepts=(older("ACTIVITY_TYPE_OTP_LOGIN", _from_v1),),
    load_context=_login_context,
    by_parent=ByParent(UserProof.CODE, _user_lookup),
    also_does=("OTP_AUTH",),
    adds=_added_by_login,
)
async def otp_login(execution: ExecutionWith[OtpLoginContext], intent: OtpLoginIntentV2) -> Output[OtpLoginResult]:
    """Start a session of the user whose contact a verification token proves."""
    organization = execution.organization
    token = await proven_token(execution, intent.verification_token, is_used_up=execution.context.is_used_up)
    check_login(token, intent.client_signature, compressed_public_key(intent.public_key))
    evidence = of_token(token)
    user = _user_of_contact(execution, evidence)
    check_logins_by_code(organization, token.otp_type)
    session = await begin_login_session(
        execution,
        execution.context.begins,
        user,
        public_key=intent.public_key,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        session_profile_id=intent.session_profile_id,
    )
    return Output(
        result=OtpLoginResult(session=session.token),
        changes=(session.change, *_contact_changes(execution, user, evidence)),
        begun_by=contact_id(user.user_id, token.otp_type),
        attachments=used_token_rows(token, intent.client_signature),
    )


async def _load_code(source: ContextSource, intent: OtpAuthIntent) -> StoredCode:
    return await stored_code(source, intent.otp_id)


def _added_by_auth(known: KnownBefore, _: OtpAuthIntent) -> list[AddedCredential]:
    stored: StoredCode | None = known.context
    code = None if stored is None else stored.code
    session = adding.session(CredentialType.OTP_AUTH_KEY_P256, None)
    return [*session, *(_added_contact(known, code.otp_type, code.contact) if code is not None else ())]


@activity(
    "ACTIVITY_TYPE_OTP_AUTH",
    load_context=_load_code,
    by_parent=ByParent(UserProof.CODE),
    also_does=("EMAIL_AUTH", "OTP_LOGIN"),
    adds=_added_by_auth,
)
async def otp_auth(
    execution: ExecutionWith[StoredCode], intent: OtpAuthIntent
) -> Output[OtpAuthResult] | RefusalWithRows:
    """Start a session of the user whose contact got a one-time code, by a new key sealed to the target key."""
    attempt = counted_attempt(execution, execution.context, "auth")
    if (refused := await refused_attempt(execution, attempt, intent.otp_code)) is not None:
        return refused
    evidence = of_used_code(attempt.code.after_use(execution.now_ms))
    user = _user_of_contact(execution, evidence)
    session = await begin_bundle_session(
        execution,
        user,
        CredentialType.OTP_AUTH_KEY_P256,
        default_name="OTP Auth",
        target_public_key=intent.target_public_key,
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
    )
    return Output(
        result=OtpAuthResult(
            user_id=user.user_id, api_key_id=session.api_key.api_key_id, credential_bundle=session.bundle
        ),
        changes=(session.change, *_contact_changes(execution, user, evidence)),
        begun_by=contact_id(user.user_id, attempt.code.otp_type),
        attachments=used_code_rows(execution, attempt),
    )


def _user_of_contact(execution: Execution, evidence: ContactEvidence) -> User:
    """The one user whose account the contact finds. A user who stamps the login with a credential of their own may
    also have written the contact. Raises NotFound, and InvalidRequest if the contact finds several."""
    organization = execution.organization
    users = users_found_by(organization, evidence.otp_type, evidence.contact)
    if not users and _is_stamped_with_registered_credential(execution):
        submitter = organization.users[execution.submitter_id]
        users = [submitter] if has_contact(submitter, evidence.otp_type, evidence.contact) else []
    if not users:
        raise NotFound(
            f"no user of organization {organization.id} is found by the contact that got the code: {NOT_AN_ACCOUNT}"
        )
    if len(users) > 1:
        raise InvalidRequest(
            f"more than one user of organization {organization.id} is found by the contact that got the code"
        )
    return users[0]


def _contact_changes(execution: Execution, user: User, evidence: ContactEvidence) -> tuple[Change, ...]:
    """The change that marks the contact as verified: if one of the organization's credentials stamped the login, or
    if there is none.

    Otherwise somebody else may have these credentials: who made the account with them, and with an address that is
    not theirs. The owner of the address then logs in, and does not find this account first from now on.
    """
    users = execution.organization.users.values()
    if _is_stamped_with_registered_credential(execution) or not any(map(registered_credential_ids, users)):
        return contact_changes(execution.organization, user, [evidence])
    return ()


def _is_stamped_with_registered_credential(execution: Execution) -> bool:
    """Whether a user of the organization stamped the request, with a credential that no login made."""
    submitter = execution.organization.users.get(execution.submitter_id)
    return submitter is not None and execution.stamped_with in registered_credential_ids(submitter)
