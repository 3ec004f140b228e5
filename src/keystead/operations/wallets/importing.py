"""Importing wallets and private keys: the key to encrypt them to, and the import of the encrypted message."""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import PermissionDenied
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, WalletAccountParams
from keystead.api.records import PrivateKeyAddress, Wire
from keystead.chains.bounds import BUNDLE_MESSAGE_CHARACTERS_MAX
from keystead.chains.bundle_texts import read_message
from keystead.operations.declare import activity
from keystead.operations.wallets.derived_accounts import ACCOUNTS_AT_ONCE, account_request
from keystead.operations.wallets.private_keys import check_formats, private_key_record
from keystead.operations.wallets.wallets import check_new_wallet, wallet_records
from keystead.organizations.attachments import PRIVATE_KEY_PURPOSE, SealedSecret
from keystead.organizations.import_targets import open_targets, removals_of_outdated
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.organization import Put, Remove
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.signer_values import ClientMessage

EncryptedBundle = Annotated[str, Meta(max_length=BUNDLE_MESSAGE_CHARACTERS_MAX)]
"""JSON text: what the caller sealed to an import target."""


class InitImportWalletIntent(RequestStruct, frozen=True):
    user_id: Uuid


class InitImportWalletResult(Wire, frozen=True):
    """`import_bundle`: JSON text, signed by the server."""

    import_bundle: str


class InitImportPrivateKeyIntent(RequestStruct, frozen=True):
    user_id: Uuid


class InitImportPrivateKeyResult(Wire, frozen=True):
    """`import_bundle`: JSON text, signed by the server."""

    import_bundle: str


class _ImportIntent(Protocol):
    @property
    def user_id(self) -> str: ...


def check_import_of_submitter(submitter_id: str, intent: _ImportIntent) -> None:
    """Raise PermissionDenied unless the submitter imports for themselves. No policy overrides this rule."""
    if intent.user_id != submitter_id:
        raise PermissionDenied(
            f"an import is its user's own: field `parameters.userId`: {intent.user_id} is not the user who "
            f"stamped the request, {submitter_id}"
        )


@activity("ACTIVITY_TYPE_INIT_IMPORT_WALLET", precondition=check_import_of_submitter)
async def init_import_wallet(
    execution: Execution, intent: InitImportWalletIntent
) -> Output[InitImportWalletResult]:
    """Begin the import of a wallet: get a key to seal its mnemonic to, valid for one import within an hour."""
    import_bundle, changes = await _new_import_target(execution, ImportKind.WALLET, intent.user_id)
    return Output(result=InitImportWalletResult(import_bundle=import_bundle), changes=changes)


@activity("ACTIVITY_TYPE_INIT_IMPORT_PRIVATE_KEY", precondition=check_import_of_submitter)
async def init_import_private_key(
    execution: Execution, intent: InitImportPrivateKeyIntent
) -> Output[InitImportPrivateKeyResult]:
    """Begin the import of a private key: get a key to seal it to, valid for one import within an hour."""
    import_bundle, changes = await _new_import_target(execution, ImportKind.PRIVATE_KEY, intent.user_id)
    return Output(result=InitImportPrivateKeyResult(import_bundle=import_bundle), changes=changes)


async def _new_import_target(
    execution: Execution, kind: ImportKind, user_id: str
) -> tuple[str, tuple[Put | Remove, ...]]:
    organization, target_id = execution.organization, execution.new_id()
    new_target = await execution.signer.new_import_target(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        target_id=target_id,
        kind=kind,
        user_id=user_id,
    )
    target = ImportTarget(
        id=target_id, kind=kind, user_id=user_id, sealed=new_target.sealed, created_at_ms=execution.now_ms
    )
    removals = removals_of_outdated(organization, user_id, kind, execution.now_ms)
    return new_target.import_bundle, (*removals, Put(target))


class ImportWalletIntent(RequestStruct, frozen=True):
    user_id: Uuid
    wallet_name: Label
    encrypted_bundle: EncryptedBundle
    accounts: Annotated[tuple[WalletAccountParams, ...], Meta(max_length=ACCOUNTS_AT_ONCE)]


class ImportWalletResult(Wire, frozen=True):
    wallet_id: str
    addresses: tuple[str, ...]


@activity("ACTIVITY_TYPE_IMPORT_WALLET", precondition=check_import_of_submitter)
async def import_wallet(execution: Execution, intent: ImportWalletIntent) -> Output[ImportWalletResult]:
    """Make a wallet of the mnemonic that the caller sealed to an import target."""
    organization = execution.organization
    normalized_paths = check_new_wallet(execution, intent.wallet_name, intent.accounts)
    wallet_id = execution.new_id()
    import_result = await execution.signer.import_wallet(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        targets=open_targets(organization, intent.user_id, ImportKind.WALLET, execution.now_ms),
        message=_message(intent.encrypted_bundle),
        wallet_id=wallet_id,
        accounts=[account_request(params) for params in intent.accounts],
    )
    records = wallet_records(
        execution,
        wallet_id,
        intent.wallet_name,
        import_result.wallet,
        intent.accounts,
        normalized_paths,
        imported=True,
    )
    return Output(
        result=ImportWalletResult(
            wallet_id=wallet_id, addresses=tuple(account.address for account in records.accounts)
        ),
        changes=(Put(records.wallet), Remove(ImportTarget, import_result.target_id)),
        attachments=records.attachments,
        derived=records.accounts,
    )


class ImportPrivateKeyIntent(RequestStruct, frozen=True):
    user_id: Uuid
    private_key_name: Label
    encrypted_bundle: EncryptedBundle
    curve: Curve
    address_formats: Annotated[tuple[AddressFormat, ...], Meta(max_length=len(AddressFormat))]


class ImportPrivateKeyResult(Wire, frozen=True):
    private_key_id: str
    addresses: tuple[PrivateKeyAddress, ...]


@activity("ACTIVITY_TYPE_IMPORT_PRIVATE_KEY", precondition=check_import_of_submitter)
async def import_private_key(
    execution: Execution, intent: ImportPrivateKeyIntent
) -> Output[ImportPrivateKeyResult]:
    """Store the private key that the caller sealed to an import target."""
    organization = execution.organization
    organization.private_keys.check_limit(1, execution.limits)
    used_names = organization.private_keys.labels()
    PrivateKeys.check_label(intent.private_key_name, used_names, "parameters.privateKeyName")
    check_formats(intent.curve, intent.address_formats, "parameters.addressFormats")
    private_key_id = execution.new_id()
    import_result = await execution.signer.import_private_key(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        targets=open_targets(organization, intent.user_id, ImportKind.PRIVATE_KEY, execution.now_ms),
        message=_message(intent.encrypted_bundle),
        private_key_id=private_key_id,
        curve=intent.curve,
        address_formats=intent.address_formats,
    )
    private_key = private_key_record(
        execution, private_key_id, intent.private_key_name, intent, import_result.private_key, (), imported=True
    )
    return Output(
        result=ImportPrivateKeyResult(private_key_id=private_key_id, addresses=private_key.addresses),
        changes=(Put(private_key), Remove(ImportTarget, import_result.target_id)),
        attachments=(SealedSecret(private_key_id, PRIVATE_KEY_PURPOSE, import_result.private_key.sealed),),
    )


def _message(encrypted_bundle: str) -> ClientMessage:
    return ClientMessage(*read_message(encrypted_bundle, "parameters.encryptedBundle"))
