"""create_read_write_session: a session whose key the server makes and seals to the client. Newer clients use the
logins.

Not here: the key and its bundle (`session_keys`), the logins (`logins`).
"""

from __future__ import annotations

from keystead.api.decoding import Label
from keystead.api.enums import CredentialType, OtpType
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import User, Wire
from keystead.operations.declare import activity, older
from keystead.operations.logins.session_keys import begin_bundle_session
from keystead.operations.users import added_credentials as adding
from keystead.organizations.contacts.account_contacts import NOT_AN_ACCOUNT, has_contact
from keystead.organizations.credentials.sessions import user_with_email
from keystead.organizations.kinds.users import Users
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.operation import THE_SUBMITTER, ByParent, UserProof


class CreateReadWriteSessionIntentV2(RequestStruct, frozen=True):
    """`target_public_key`: the P-256 key to which the session's key is sealed. `user_id` is the submitter if
    absent."""

    target_public_key: ShortText
    user_id: Uuid | None = None
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None


class CreateReadWriteSessionIntent(RequestStruct, frozen=True):
    """`email`: the address of the user whose session starts."""

    target_public_key: ShortText
    email: ShortText
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None


class _ByEmail(CreateReadWriteSessionIntentV2, frozen=True):
    """A request of the first version, which names the user by an e-mail address."""

    email: ShortText = ""


class CreateReadWriteSessionResultV2(Wire, frozen=True):
    organization_id: str
    organization_name: str
    user_id: str
    username: str
    api_key_id: str
    credential_bundle: str


def _from_v1(intent: CreateReadWriteSessionIntent) -> CreateReadWriteSessionIntentV2:
    return _ByEmail(
        target_public_key=intent.target_public_key,
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        email=intent.email,
    )


def _owner(intent: CreateReadWriteSessionIntentV2) -> str | None:
    if isinstance(intent, _ByEmail):
        return None  # an e-mail address names the user
    return intent.user_id or THE_SUBMITTER


@activity(
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2",
    owner=_owner,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION", _from_v1, result_key="createReadWriteSessionResult"),
    ),
    before_session=True,
    by_parent=ByParent(UserProof.NONE),
    also_does=("STAMP_LOGIN",),
    adds=lambda _, intent: adding.session(CredentialType.READ_WRITE_SESSION_KEY_P256, _owner(intent)),
)
async def create_read_write_session(
    execution: Execution, intent: CreateReadWriteSessionIntentV2
) -> Output[CreateReadWriteSessionResultV2]:
    """Start a session of a user, with a new key that only the holder of the target key can open."""
    organization = execution.organization
    if isinstance(intent, _ByEmail):
        user = _user_of_email(execution, intent.email)
    else:
        user = organization.record(Users, intent.user_id or execution.submitter_id)
    session = await begin_bundle_session(
        execution,
        user,
        CredentialType.READ_WRITE_SESSION_KEY_P256,
        default_name="Read Write Session",
        target_public_key=intent.target_public_key,
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
    )
    return Output(
        result=CreateReadWriteSessionResultV2(
            organization_id=organization.id,
            organization_name=organization.profile.name,
            user_id=user.user_id,
            username=user.user_name,
            api_key_id=session.api_key.api_key_id,
            credential_bundle=session.bundle,
        ),
        changes=(session.change,),
        begun_by=execution.origin,
    )


def _user_of_email(execution: Execution, email: str) -> User:
    """The submitter, if this is the submitter's own address; otherwise the user whose account it finds. Raises
    NotFound, InvalidRequest."""
    organization = execution.organization
    submitter = organization.users.get(execution.submitter_id)
    if submitter is not None and has_contact(submitter, OtpType.EMAIL, email):
        return submitter
    user = user_with_email(organization, email)
    if user is None:
        raise NotFound(
            f"unable to find a user by this e-mail address in organization {organization.id} (field "
            f"`parameters.email`): {NOT_AN_ACCOUNT}"
        )
    return user
