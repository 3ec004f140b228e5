"""What an execution changes: it adds no credential that its operation does not declare; the change that deletes an
organization takes few look-ups with it, and leaves many to the steps that follow."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.api.enums import CredentialType
from keystead.api.identifiers import new_id
from keystead.api.records import ApiKey, Credential, OauthProvider, Wire
from keystead.operations.organizations.sub_organizations import DeleteSubOrganizationResult
from keystead.organizations.attachments import RemovedOrganizationContents
from keystead.organizations.deletion import deletion_changes
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Put, apply
from keystead.pipeline import changes
from keystead.pipeline.changes import UndeclaredCredential, changes_of, lookups_of
from keystead.pipeline.execution import Output
from keystead.pipeline.operation import AddedCredential, NewUser
from keystead.primitives.share import Share
from tests.support.commit_samples import NOW, a_user, a_wallet_authenticator, an_organization


@pytest.mark.parametrize(("more", "goes_at_once"), [(0, True), (1, False)])
def test_look_ups_of_a_deleted_organization(more: int, goes_at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    organization = an_organization(parent_id=new_id(), users=tuple(a_user(f"user {number}") for number in range(5)))
    lookups = lookups_of(organization, ())
    monkeypatch.setattr(changes, "LOOKUPS_DELETED_AT_ONCE_MAX", len(lookups) - more)
    output = Output(
        result=DeleteSubOrganizationResult(sub_organization_uuid=organization.id),
        changes=deletion_changes(organization, without_export=True),
        attachments=(RemovedOrganizationContents(),),
    )
    write = asyncio.run(changes_of(organization, output, (), new_id(), Limits(), Share()))
    assert write is not None
    assert write.after == apply(organization, output.changes, write.after.version)
    assert list(write.after.users) == []
    assert write.lookups_added == frozenset()
    expected = lookups - lookups_of(write.after, ()) if goes_at_once else frozenset()
    assert write.lookups_removed == expected


USER = a_user()
PROVIDER = OauthProvider("p", "issuer", "https://issuer.example", "audience", "subject", NOW, NOW)
LASTING = ApiKey(Credential("02" * 33, CredentialType.API_KEY_P256), "k", "key", NOW, NOW)
SESSION = replace(LASTING, api_key_id="s", credential=Credential("03" * 33, CredentialType.LOGIN))
NEW_PASSKEY = replace(USER.authenticators[0], authenticator_id="n", credential_id="bmV3")
ADDED: list[tuple[CredentialType, Put]] = [
    (CredentialType.API_KEY_P256, Put(replace(USER, api_keys=(*USER.api_keys, LASTING)))),
    (CredentialType.LOGIN, Put(replace(USER, api_keys=(*USER.api_keys, SESSION)))),
    (CredentialType.WEBAUTHN_AUTHENTICATOR, Put(replace(USER, authenticators=(*USER.authenticators, NEW_PASSKEY)))),
    (CredentialType.OAUTH, Put(replace(USER, oauth_providers=(*USER.oauth_providers, PROVIDER)))),
    (CredentialType.WALLET, Put(replace(USER, wallet_authenticators=(a_wallet_authenticator(),)))),
    (CredentialType.EMAIL_OTP, Put(AccountContacts(user_id=USER.user_id, email="new@example.com"))),
    (CredentialType.SMS_OTP, Put(AccountContacts(user_id=USER.user_id, phone_number="+14155550123"))),
]


@pytest.mark.parametrize(("type_", "change"), ADDED, ids=[type_ for type_, _ in ADDED])
def test_a_credential_that_the_operation_does_not_declare_is_not_committed(
    type_: CredentialType, change: Put
) -> None:
    organization = an_organization(users=(USER,))
    output = Output(result=Wire(), changes=(change,), begun_by="credential")

    def write(*declared: AddedCredential) -> object:
        return asyncio.run(changes_of(organization, output, declared, new_id(), Limits(), Share()))

    other = next(one for one, _ in ADDED if one is not type_)
    for declared in (
        (),
        (AddedCredential(type=other, holder=USER.user_id),),
        (AddedCredential(type=type_, holder="another user"),),
        (AddedCredential(type=type_, holder=NewUser("new", "", ())),),
    ):
        with pytest.raises(UndeclaredCredential):
            write(*declared)
    assert write(AddedCredential(type=type_, holder=USER.user_id)) is not None
    assert write(AddedCredential(type=type_, holder=None)) is not None


def test_the_table_has_every_type_that_approves() -> None:
    of_api_keys = {CredentialType.API_KEY_SECP256K1, CredentialType.API_KEY_ED25519}
    of_sessions = {
        CredentialType.EMAIL_AUTH_KEY_P256,
        CredentialType.OTP_AUTH_KEY_P256,
        CredentialType.READ_WRITE_SESSION_KEY_P256,
        CredentialType.OAUTH_KEY_P256,
    }
    approve_nothing = {CredentialType.RECOVER_USER_KEY_P256}
    assert {type_ for type_, _ in ADDED} == {*CredentialType} - of_api_keys - of_sessions - approve_nothing
