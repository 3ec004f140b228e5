"""Secrets other than keys: import, export, list, delete. Only the holder of a target key sees a value.

Not here: sealing and opening (`signer`), the key that an import is sealed to (`organizations.import_targets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import TransportEncryptionSuite
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Pagination, QueryRequest, RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.chains.bundle_texts import read_message, read_target
from keystead.operations.bounds import SECRET_BYTES_MAX, SECRET_PROPERTIES_MAX
from keystead.operations.declare import Reading, activity, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.operations.wallets.exporting import TargetPublicKey
from keystead.organizations.attachments import SECRET_PURPOSE, SealedSecret
from keystead.organizations.import_targets import open_targets, removals_of_outdated
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.kinds.secrets import SECRET_BYTES, Secret, Secrets
from keystead.organizations.organization import Organization, Put, Remove
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output
from keystead.pipeline.signer_values import ClientMessage
from keystead.policies.request import ResourceKeywords

SECRETS_AT_ONCE: Final = 10
"""Most secrets of one request. The result of an export is stored, and it is four times as large as its secrets."""


_TAG_BYTES: Final = 16
_PAYLOAD_LENGTH_MAX: Final = 2 * (SECRET_BYTES_MAX + _TAG_BYTES) + 1_024
"""Characters of a sealed secret: its ciphertext in hex, and the JSON around it."""


class InitImportSecretsIntent(RequestStruct, frozen=True):
    encryption_suite: TransportEncryptionSuite
    num_secrets: Annotated[int, Meta(ge=1, le=SECRETS_AT_ONCE)]


class InitImportSecretsResult(Wire, frozen=True):
    """`enclave_target_messages`: JSON texts, signed by the server, one for each secret."""

    enclave_target_messages: tuple[str, ...]


@activity("ACTIVITY_TYPE_INIT_IMPORT_SECRETS")
async def init_import_secrets(
    execution: Execution, intent: InitImportSecretsIntent
) -> Output[InitImportSecretsResult]:
    """Begin the import of secrets: get keys to seal them to, each valid for one secret within an hour."""
    organization, user_id, kind = execution.organization, execution.submitter_id, ImportKind.SECRET
    messages: list[str] = []
    targets: list[ImportTarget] = []
    for _ in range(intent.num_secrets):
        target_id = execution.new_id()
        new_target = await execution.signer.new_import_target(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            target_id=target_id,
            kind=kind,
            user_id=user_id,
        )
        messages.append(new_target.import_bundle)
        targets.append(
            ImportTarget(
                id=target_id,
                kind=kind,
                user_id=user_id,
                sealed=new_target.sealed,
                created_at_ms=execution.now_ms,
                public_key=new_target.public_key,
            )
        )
    removed = removals_of_outdated(organization, user_id, kind, execution.now_ms, adding=len(targets))
    return Output(
        result=InitImportSecretsResult(enclave_target_messages=tuple(messages)),
        changes=(*removed, *map(Put, targets)),
    )


class StaticProperty(RequestStruct, frozen=True):
    """`value`: "" if absent."""

    key: Annotated[ShortText, Meta(min_length=1)]
    value: ShortText | None = None


Properties = Annotated[tuple[StaticProperty, ...], Meta(max_length=SECRET_PROPERTIES_MAX)]


class ImportSecretParams(RequestStruct, frozen=True):
    """`secret_payload`: JSON text, the secret sealed to `target_public_key`, a key of `init_import_secrets`."""

    secret_payload: Annotated[str, Meta(max_length=_PAYLOAD_LENGTH_MAX)]
    target_public_key: TargetPublicKey
    encryption_suite: TransportEncryptionSuite
    name: Label | None = None
    static_properties: Properties | None = None


class ImportSecretsIntent(RequestStruct, frozen=True):
    secrets: Annotated[tuple[ImportSecretParams, ...], Meta(min_length=1, max_length=SECRETS_AT_ONCE)]


class ImportSecretsResult(Wire, frozen=True):
    """In the order of the request."""

    secret_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_IMPORT_SECRETS")
async def import_secrets(execution: Execution, intent: ImportSecretsIntent) -> Output[ImportSecretsResult]:
    """Store the secrets that the caller sealed to import targets, all or none."""
    organization, now_ms = execution.organization, execution.now_ms
    known = organization.of(Secrets)
    known.check_limit(len(intent.secrets), execution.limits)
    names = {name: id_ for name, id_ in known.labels().items() if name}
    targets = {
        target.public_key: target
        for target in open_targets(organization, execution.submitter_id, ImportKind.SECRET, now_ms)
    }
    changes: list[Put | Remove] = []
    sealed: list[SealedSecret] = []
    for index, params in enumerate(intent.secrets):
        field = f"parameters.secrets[{index}]"
        secret = _new_secret(execution, params, field)
        if secret.name:
            Secrets.check_label(secret.name, names, f"{field}.name")
            names[secret.name] = secret.id
        target = targets.pop(read_target(params.target_public_key, f"{field}.targetPublicKey").hex(), None)
        if target is None:
            raise InvalidRequest(
                f"failed to decrypt bundle: field `{field}.targetPublicKey`: none of the user's open imports has "
                "this key; each key of init_import_secrets takes one secret within an hour"
            )
        value = await execution.signer.import_secret(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            target=target,
            message=_message(execution, params.secret_payload, f"{field}.secretPayload"),
            secret_id=secret.id,
        )
        changes += [Put(secret), Remove(ImportTarget, target.id)]
        sealed.append(SealedSecret(secret.id, SECRET_PURPOSE, value))
    return Output(
        result=ImportSecretsResult(secret_ids=tuple(secret.record_id for secret in sealed)),
        changes=tuple(changes),
        attachments=tuple(sealed),
    )


def _new_secret(execution: Execution, params: ImportSecretParams, field: str) -> Secret:
    return Secret(
        id=execution.new_id(),
        name=params.name or "",
        static_properties=_by_key(params.static_properties, f"{field}.staticProperties"),
        created_at_ms=execution.now_ms,
    )


def _by_key(properties: Properties | None, field: str) -> dict[str, str]:
    """The values by key. Raises InvalidRequest for two properties of one key."""
    values: dict[str, str] = {}
    for each in properties or ():
        if each.key in values:
            raise InvalidRequest(f"invalid request: field `{field}`: two properties have the key {each.key!r}")
        values[each.key] = each.value or ""
    return values


def _message(execution: Execution, payload: str, field: str) -> ClientMessage:
    """The message that holds a sealed secret. Raises InvalidRequest, also if the secret has more bytes than the
    limit."""
    message = ClientMessage(*read_message(payload, field, _PAYLOAD_LENGTH_MAX))
    bytes_max = min(execution.limits[SECRET_BYTES], SECRET_BYTES_MAX)
    if len(message.ciphertext) - _TAG_BYTES > bytes_max:
        raise InvalidRequest(
            f"invalid request: field `{field}`: a secret has at most {bytes_max} bytes, not "
            f"{len(message.ciphertext) - _TAG_BYTES}"
        )
    return message


class ExportSecretParams(RequestStruct, frozen=True):
    """`request_context`: what the caller says about the export, for policies and the record."""

    secret_id: Uuid
    target_public_key: TargetPublicKey
    encryption_suite: TransportEncryptionSuite
    request_context: Properties | None = None


class ExportSecretsIntent(RequestStruct, frozen=True):
    secrets: Annotated[tuple[ExportSecretParams, ...], Meta(min_length=1, max_length=SECRETS_AT_ONCE)]


class ExportSecretsResult(Wire, frozen=True):
    """`secret_payloads`: JSON texts, signed by the server, in the order of the request."""

    secret_payloads: tuple[str, ...]


async def _sealed_secrets(source: ContextSource, intent: ExportSecretsIntent) -> dict[str, Sealed]:
    """The sealed values by id. Raises NotFound."""
    values: dict[str, Sealed] = {}
    for secret in _secrets_named(source.organization, [params.secret_id for params in intent.secrets]):
        row = await source.store.attached.get(SealedSecret, source.organization.id, secret.id, SECRET_PURPOSE)
        if row is None:  # it was deleted after this version of the organization
            raise source.organization.not_found(Secrets, secret.id)
        values[secret.id] = row.sealed
    return values


def _exported_keywords(
    organization: Organization, intent: ExportSecretsIntent, _: dict[str, Sealed]
) -> ResourceKeywords:
    contexts = [
        (params.secret_id, _by_key(params.request_context, f"parameters.secrets[{index}].requestContext"))
        for index, params in enumerate(intent.secrets)
    ]
    return _keywords(organization, contexts)


@activity("ACTIVITY_TYPE_EXPORT_SECRETS", load_context=_sealed_secrets, resources=_exported_keywords)
async def export_secrets(
    execution: ExecutionWith[dict[str, Sealed]], intent: ExportSecretsIntent
) -> Output[ExportSecretsResult]:
    """Export secrets, all or none, each sealed to its target key. Policies must allow each of them."""
    organization = execution.organization
    payloads = [
        await execution.signer.export_secret(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            secret_id=params.secret_id,
            sealed=execution.context[params.secret_id],
            target=read_target(params.target_public_key, f"parameters.secrets[{index}].targetPublicKey"),
        )
        for index, params in enumerate(intent.secrets)
    ]
    return Output(result=ExportSecretsResult(secret_payloads=tuple(payloads)))


class DeleteSecretsIntent(RequestStruct, frozen=True):
    secret_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=SECRETS_AT_ONCE)]


class DeleteSecretsResult(Wire, frozen=True):
    secret_ids: tuple[str, ...]


def _deleted_keywords(organization: Organization, intent: DeleteSecretsIntent, _: None) -> ResourceKeywords:
    return _keywords(organization, [(id_, {}) for id_ in intent.secret_ids if id_ in organization.of(Secrets)])


@activity("ACTIVITY_TYPE_DELETE_SECRETS", resources=_deleted_keywords)
def delete_secrets(execution: Execution, intent: DeleteSecretsIntent) -> Output[DeleteSecretsResult]:
    """Delete secrets, all or none. They cannot be recovered. Policies must allow each of them."""
    deleted_ids = tuple(secret.id for secret in _secrets_named(execution.organization, intent.secret_ids))
    return Output(
        result=DeleteSecretsResult(secret_ids=deleted_ids),
        changes=tuple(Remove(Secret, secret_id) for secret_id in deleted_ids),
        attachments=tuple(SealedSecret.removal(secret_id, SECRET_PURPOSE) for secret_id in deleted_ids),
    )


class KeyValue(Wire, frozen=True):
    key: str
    value: str


class SecretMetadata(Wire, frozen=True):
    """`created_at_unix_ms`: milliseconds since the epoch, as decimal text."""

    secret_id: str
    static_properties: tuple[KeyValue, ...]
    created_at_unix_ms: str
    name: str | None = None


class ListSecretsRequest(QueryRequest, frozen=True):
    pagination_options: Pagination | None = None


class ListSecretsResponse(Wire, frozen=True):
    secrets: tuple[SecretMetadata, ...]


@query()
def list_secrets(reading: Reading, request: ListSecretsRequest) -> ListSecretsResponse:
    """The secrets of the organization without their values, newest first, by page."""
    page = page_of(request.pagination_options)
    secrets = reading.organization.of(Secrets)
    ids = sorted(secrets, reverse=True)
    cursor = page.before or page.after
    if cursor and cursor not in secrets:
        raise unknown_cursor(page)
    if page.before:
        end = ids.index(page.before)
        ids = ids[max(0, end - page.limit) : end]
    else:
        start = ids.index(page.after) + 1 if page.after else 0
        ids = ids[start : start + page.limit]
    return ListSecretsResponse(secrets=tuple(_shown(secrets[id_]) for id_ in ids))


def _shown(secret: Secret) -> SecretMetadata:
    return SecretMetadata(
        secret_id=secret.id,
        static_properties=tuple(KeyValue(key=key, value=value) for key, value in secret.static_properties.items()),
        created_at_unix_ms=str(secret.created_at_ms),
        name=secret.name or None,
    )


def _secrets_named(organization: Organization, secret_ids: Iterable[str]) -> list[Secret]:
    """The secrets of these ids, each once. Raises NotFound."""
    return [organization.record(Secrets, secret_id) for secret_id in dict.fromkeys(secret_ids)]


def _keywords(organization: Organization, secrets: Iterable[tuple[str, Mapping[str, str]]]) -> ResourceKeywords:
    """The keyword of each secret, by its id and the context of the request about it. There is one item for all
    secrets with equal properties, because policies cannot tell them apart."""
    known = organization.of(Secrets)
    items: list[dict[str, Any]] = []
    for secret_id, context in secrets:
        item = {"static_properties": known[secret_id].static_properties, "request_context": dict(context)}
        if item not in items:
            items.append(item)
    first, *others = [{"secret": item} for item in items] or [{}]
    return ResourceKeywords(first, others=tuple(others))
