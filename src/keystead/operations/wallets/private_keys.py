"""Private keys that belong to no wallet: creating, deleting and reading them; what policies see of a key."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AddressFormat, Curve, TagType
from keystead.api.errors import InvalidRequest, ServiceError
from keystead.api.identifiers import Uuid
from keystead.api.parameters import NotSupported, QueryRequest, RequestStruct
from keystead.api.records import PrivateKey, PrivateKeyAddress, Timestamp, Wallet, WalletAccount, Wire
from keystead.chains.addresses.formats import require_encodable
from keystead.chains.paths import HARDENED, parse_path
from keystead.operations.declare import Reading, activity, older, query
from keystead.organizations.attachments import PRIVATE_KEY_PURPOSE, SealedSecret
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.organization import Put, Remove
from keystead.organizations.tags import check_tags
from keystead.organizations.wallets import check_exported
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.signer_values import NewPrivateKey


def wallet_keywords(wallet: Wallet) -> dict[str, Any]:
    return {
        "id": wallet.wallet_id,
        "label": wallet.wallet_name,
        "imported": wallet.imported,
        "exported": wallet.exported,
    }


def wallet_account_keywords(account: WalletAccount) -> dict[str, Any]:
    """The path as the request wrote it, level by level."""
    segments = parse_path(account.path)
    return {
        "address": account.address,
        "path_indexes": tuple([segment & ~HARDENED for segment in segments]),
        "path_hardened": tuple([bool(segment & HARDENED) for segment in segments]),
    }


def private_key_keywords(key: PrivateKey) -> dict[str, Any]:
    return {
        "id": key.private_key_id,
        "label": key.private_key_name,
        "tags": key.private_key_tags,
        "imported": key.imported,
        "exported": key.exported,
    }


KEYS_AT_ONCE = 100
"""Most private keys that one request may make or delete."""


class PrivateKeyParams(RequestStruct, frozen=True):
    private_key_name: Label
    curve: Curve
    private_key_tags: Annotated[tuple[Uuid, ...], Meta(max_length=100)]
    address_formats: Annotated[tuple[AddressFormat, ...], Meta(max_length=len(AddressFormat))]


PrivateKeysParams = Annotated[tuple[PrivateKeyParams, ...], Meta(min_length=1, max_length=KEYS_AT_ONCE)]


class CreatePrivateKeysIntentV2(RequestStruct, frozen=True):
    private_keys: PrivateKeysParams
    external_signer_pubkey: NotSupported | None = None
    external_signer_wrapping_key_id: NotSupported | None = None


class CreatePrivateKeysIntent(RequestStruct, frozen=True):
    private_keys: PrivateKeysParams


class PrivateKeyResult(Wire, frozen=True):
    private_key_id: str
    addresses: tuple[PrivateKeyAddress, ...]


class CreatePrivateKeysResultV2(Wire, frozen=True):
    private_keys: tuple[PrivateKeyResult, ...]


class CreatePrivateKeysResult(Wire, frozen=True):
    private_key_ids: tuple[str, ...]


def _from_v1(intent: CreatePrivateKeysIntent) -> CreatePrivateKeysIntentV2:
    return CreatePrivateKeysIntentV2(private_keys=intent.private_keys)


def _as_v1(result: CreatePrivateKeysResultV2) -> CreatePrivateKeysResult:
    return CreatePrivateKeysResult(private_key_ids=tuple(made.private_key_id for made in result.private_keys))


@activity(
    "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2",
    accepts=(older("ACTIVITY_TYPE_CREATE_PRIVATE_KEYS", _from_v1, result=_as_v1),),
)
async def create_private_keys(
    execution: Execution, intent: CreatePrivateKeysIntentV2
) -> Output[CreatePrivateKeysResultV2]:
    """Make private keys, which are stored sealed, each with its addresses."""
    organization, requested = execution.organization, intent.private_keys
    organization.private_keys.check_limit(len(requested), execution.limits)
    used_names = organization.private_keys.labels()
    for index, params in enumerate(requested):
        field = f"parameters.privateKeys[{index}]"
        PrivateKeys.check_label(params.private_key_name, used_names, f"{field}.privateKeyName")
        used_names[params.private_key_name] = f"`{field}` too"
        check_tags(organization, TagType.PRIVATE_KEY, params.private_key_tags, f"{field}.privateKeyTags")
        check_formats(params.curve, params.address_formats, f"{field}.addressFormats")
    keys: list[PrivateKey] = []
    secrets: list[SealedSecret] = []
    for params in requested:
        private_key_id = execution.new_id()
        new_key = await execution.signer.create_private_key(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            private_key_id=private_key_id,
            curve=params.curve,
            address_formats=params.address_formats,
        )
        tags = tuple(dict.fromkeys(params.private_key_tags))
        keys.append(
            private_key_record(
                execution, private_key_id, params.private_key_name, params, new_key, tags, imported=False
            )
        )
        secrets.append(SealedSecret(private_key_id, PRIVATE_KEY_PURPOSE, new_key.sealed))
    return Output(
        result=CreatePrivateKeysResultV2(
            private_keys=tuple(PrivateKeyResult(key.private_key_id, key.addresses) for key in keys)
        ),
        changes=tuple(Put(key) for key in keys),
        attachments=tuple(secrets),
    )


class _KeyParams(Protocol):
    """The fields that the intents of creating and of importing a private key share."""

    @property
    def curve(self) -> Curve: ...
    @property
    def address_formats(self) -> tuple[AddressFormat, ...]: ...


def private_key_record(
    execution: Execution,
    private_key_id: str,
    name: str,
    params: _KeyParams,
    new_key: NewPrivateKey,
    tags: tuple[str, ...],
    *,
    imported: bool,
) -> PrivateKey:
    """The record of a key that the signer has just sealed."""
    now = Timestamp.from_ms(execution.now_ms)
    return PrivateKey(
        private_key_id=private_key_id,
        public_key=new_key.public_key,
        private_key_name=name,
        curve=params.curve,
        addresses=tuple(
            PrivateKeyAddress(format=address_format, address=address)
            for address_format, address in zip(params.address_formats, new_key.addresses, strict=True)
        ),
        private_key_tags=tags,
        created_at=now,
        updated_at=now,
        exported=False,
        imported=imported,
    )


def check_formats(curve: Curve, address_formats: tuple[AddressFormat, ...], field: str) -> None:
    """Raise InvalidRequest, naming the field, if a format is named twice or does not exist for the curve."""
    if len(set(address_formats)) != len(address_formats):
        raise InvalidRequest(f"invalid address format: field `{field}` has a format twice")
    for address_format in address_formats:
        try:
            require_encodable(curve, address_format)
        except ServiceError as refused:
            raise type(refused)(f"{refused.message} (field `{field}`)") from None


class DeletePrivateKeysIntent(RequestStruct, frozen=True):
    """Without `delete_without_export`, each private key must have been exported."""

    private_key_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=KEYS_AT_ONCE)]
    delete_without_export: bool | None = None


class DeletePrivateKeysResult(Wire, frozen=True):
    private_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_PRIVATE_KEYS")
def delete_private_keys(execution: Execution, intent: DeletePrivateKeysIntent) -> Output[DeletePrivateKeysResult]:
    """Delete private keys, all or none. They cannot be recovered."""
    organization = execution.organization
    keys = [organization.record(PrivateKeys, key_id) for key_id in dict.fromkeys(intent.private_key_ids)]
    check_exported(
        "private key",
        ((key.private_key_id, key.exported) for key in keys),
        without_export=intent.delete_without_export,
        machine_code="PRIVATE_KEY_NOT_EXPORTED",
    )
    deleted_ids = tuple(key.private_key_id for key in keys)
    return Output(
        result=DeletePrivateKeysResult(private_key_ids=deleted_ids),
        changes=tuple(Remove(PrivateKey, key_id) for key_id in deleted_ids),
        attachments=tuple(SealedSecret.removal(key_id, PRIVATE_KEY_PURPOSE) for key_id in deleted_ids),
    )


class GetPrivateKeyRequest(QueryRequest, frozen=True):
    private_key_id: Uuid


class GetPrivateKeyResponse(Wire, frozen=True):
    private_key: PrivateKey


@query()
def get_private_key(reading: Reading, request: GetPrivateKeyRequest) -> GetPrivateKeyResponse:
    """One private key: its public half and its addresses."""
    return GetPrivateKeyResponse(private_key=reading.organization.record(PrivateKeys, request.private_key_id))


class ListPrivateKeysRequest(QueryRequest, frozen=True):
    pass


class ListPrivateKeysResponse(Wire, frozen=True):
    private_keys: tuple[PrivateKey, ...]


@query(of_version=True)
def list_private_keys(reading: Reading, _: ListPrivateKeysRequest) -> ListPrivateKeysResponse:
    """All private keys of the organization: their public halves and their addresses."""
    return ListPrivateKeysResponse(private_keys=tuple(reading.organization.private_keys.in_order()))
