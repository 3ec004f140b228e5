"""Signing: raw payloads, one or many, and transactions.

The bytes to sign are part of the context, so they are read before the decision and policies see them. A signature
changes no record of the organization. Not here: encodings (`chains.payloads`), chains (`chains`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, assert_never

import msgspec
from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS
from keystead.api.enums import HashFunction, PayloadEncoding, SmartContractInterfaceType, TransactionType
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import NotSupported, RequestStruct
from keystead.api.records import Wire
from keystead.chains.addresses.text import base58
from keystead.chains.assets import BITCOIN, EVM, SOLANA, TRON
from keystead.chains.contract_interfaces import ParsedInterface, read_interface
from keystead.chains.ethereum import envelope
from keystead.chains.movements import Movement, MovementKind
from keystead.chains.outflow import SignedMovements
from keystead.chains.parsers import parse_transaction
from keystead.chains.payload_schemes import scheme_of
from keystead.chains.payloads import Payload, check_combination, hex_bytes, is_empty_domain, read_payload
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.transaction import UnsignedTransaction, unparsable
from keystead.operations.declare import activity, older
from keystead.operations.wallets.signing_keys import NamedKey, key_named
from keystead.organizations.kinds.contract_interfaces import contract_key
from keystead.organizations.memory_size import measured_bytes
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, OutputWithoutChanges
from keystead.policies.request import RAW_ENCODINGS, ResourceKeywords
from keystead.primitives.share import Work
from keystead.primitives.unreadable import Unreadable

logger = logging.getLogger("keystead")

PAYLOADS_AT_ONCE: Final = 1_000
"""Most payloads of one request."""

SignWith = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_CONTROLS)]
"""The address of a wallet account or private key, or the id of a private key."""


class PayloadsToSign(msgspec.Struct, frozen=True):
    """Raw payloads that were read, and the key that is to sign them."""

    named: NamedKey
    scheme: SignatureScheme
    messages: tuple[bytes, ...]
    keywords: Mapping[str, Any]
    movements: Sequence[Movement] = ()


def _signatures(
    execution: Execution, named: NamedKey, scheme: SignatureScheme, messages: Sequence[bytes]
) -> Awaitable[tuple[Signature, ...]]:
    organization = execution.organization
    return execution.signer.sign(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        key=named.key,
        scheme=scheme,
        messages=messages,
    )


def _payload_signatures(execution: ExecutionWith[PayloadsToSign]) -> Awaitable[tuple[Signature, ...]]:
    context = execution.context
    return _signatures(execution, context.named, context.scheme, context.messages)


def _key_of(private_key_id: str | None, sign_with: str | None) -> str:
    """The key that an intent of the first version names. Raises ValueError, which the decoder turns into
    InvalidRequest, unless exactly one field names it."""
    if private_key_id is not None and sign_with is None:
        return private_key_id
    if sign_with is not None and private_key_id is None:
        return sign_with
    raise ValueError("expected one of `privateKeyId` and `signWith`")


# One raw payload


class SignRawPayloadIntentV2(RequestStruct, frozen=True):
    sign_with: SignWith
    payload: str
    encoding: PayloadEncoding
    hash_function: HashFunction
    external_signer_pubkey: NotSupported | None = None


class SignRawPayloadIntent(RequestStruct, frozen=True):
    """The key is named by `private_key_id`; or by `sign_with`, which some published clients send with this type."""

    payload: str
    encoding: PayloadEncoding
    hash_function: HashFunction
    private_key_id: Uuid | None = None
    sign_with: SignWith | None = None

    def __post_init__(self) -> None:
        _key_of(self.private_key_id, self.sign_with)


class SignRawPayloadResult(Wire, frozen=True):
    """Hex without 0x. `r` and `s`: 64 digits each; `v`: 00 or 01, the recovery id of ECDSA."""

    r: str
    s: str
    v: str


def upgraded_payload(older: SignRawPayloadIntent) -> SignRawPayloadIntentV2:
    return SignRawPayloadIntentV2(
        sign_with=_key_of(older.private_key_id, older.sign_with),
        payload=older.payload,
        encoding=older.encoding,
        hash_function=older.hash_function,
    )


async def load_payload(source: ContextSource, intent: SignRawPayloadIntentV2) -> PayloadsToSign:
    named = await key_named(source, intent.sign_with)
    check_combination(named.party.curve, intent.encoding, intent.hash_function)
    payload = await source.share.run(
        source.organization.id,
        Work.TRANSACTION,
        lambda: read_payload(intent.payload, intent.encoding, intent.hash_function, "parameters.payload"),
    )
    return _payloads_to_sign(named, [payload])


def _payloads_to_sign(named: NamedKey, payloads: Sequence[Payload]) -> PayloadsToSign:
    read_keywords = payloads[0].keywords if len(payloads) == 1 else {}
    return PayloadsToSign(
        named=named,
        scheme=scheme_of(named.party.curve, named.party.address_format),
        messages=tuple(payload.message for payload in payloads),
        keywords={**named.keywords, **read_keywords},
        movements=payloads[0].movements,
    )


_UNREAD: Final = Unreadable("a raw payload may be a transaction, and nothing is known of it")


def payload_movements(context: PayloadsToSign) -> SignedMovements:
    """What anybody who has the signature can move. Raw bytes may be anything."""
    ethereum = context.keywords.get("eth", {})
    if "eip_712" in ethereum:
        chain_id = ethereum["eip_712"]["domain"]["chain_id"]
    elif "eip_7702_authorization" in ethereum:
        chain_id = ethereum["eip_7702_authorization"]["chain_id"]
    else:
        return SignedMovements(movements=_UNREAD)
    return SignedMovements(
        namespace=EVM,
        reference=str(chain_id) if isinstance(chain_id, int) else None,
        own=frozenset({envelope.sender(context.named.party)}),
        movements=context.movements,
    )


def payload_keywords(_: Organization, __: SignRawPayloadIntentV2, context: PayloadsToSign) -> ResourceKeywords:
    return ResourceKeywords(context.keywords)


@activity(
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
    accepts=(older("ACTIVITY_TYPE_SIGN_RAW_PAYLOAD", upgraded_payload),),
    load_context=load_payload,
    resources=payload_keywords,
    signs=payload_movements,
    also_does=("SIGN_RAW_PAYLOADS",),
)
async def sign_raw_payload(
    execution: ExecutionWith[PayloadsToSign], _: SignRawPayloadIntentV2
) -> OutputWithoutChanges[SignRawPayloadResult]:
    """Sign a raw payload with a wallet account or a private key."""
    (signature,) = await _payload_signatures(execution)
    _warn_of_empty_domain(execution)
    return OutputWithoutChanges(result=_result(signature))


def _warn_of_empty_domain(execution: ExecutionWith[PayloadsToSign]) -> None:
    typed_data = execution.context.keywords.get("eth", {}).get("eip_712")
    if typed_data is not None and is_empty_domain(typed_data["domain"]):
        logger.warning(
            "typed data with an empty domain was signed: the signature holds for every contract on every chain; is "
            "EIP712Domain missing in `types`?",
            extra={"organization_id": execution.organization.id},
        )


def _result(signature: Signature) -> SignRawPayloadResult:
    return SignRawPayloadResult(r=signature.r.hex(), s=signature.s.hex(), v=f"{signature.v:02x}")


# Several raw payloads


class SignRawPayloadsIntent(RequestStruct, frozen=True):
    """`encoding` and `hash_function` are those of every payload."""

    sign_with: SignWith
    payloads: Annotated[tuple[str, ...], Meta(min_length=1, max_length=PAYLOADS_AT_ONCE)]
    encoding: PayloadEncoding
    hash_function: HashFunction
    external_signer_pubkey: NotSupported | None = None


class SignRawPayloadsResult(Wire, frozen=True):
    """In the order of the payloads."""

    signatures: tuple[SignRawPayloadResult, ...]


async def load_payloads(source: ContextSource, intent: SignRawPayloadsIntent) -> PayloadsToSign:
    named = await key_named(source, intent.sign_with)
    check_combination(named.party.curve, intent.encoding, intent.hash_function)
    if len(intent.payloads) > 1 and intent.encoding not in RAW_ENCODINGS:
        # The keywords of policies describe one payload; policies could not see the others.
        raise InvalidRequest(
            f"invalid payload encoding: field `parameters.payloads`: with {intent.encoding}, a request may have "
            "only one payload"
        )
    payloads = await source.share.run(
        source.organization.id,
        Work.TRANSACTION,
        lambda: [
            read_payload(text, intent.encoding, intent.hash_function, f"parameters.payloads[{index}]")
            for index, text in enumerate(intent.payloads)
        ],
    )
    return _payloads_to_sign(named, payloads)


def payloads_keywords(_: Organization, __: SignRawPayloadsIntent, context: PayloadsToSign) -> ResourceKeywords:
    return ResourceKeywords(context.keywords)


@activity(
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOADS",
    load_context=load_payloads,
    resources=payloads_keywords,
    signs=payload_movements,
    also_does=("SIGN_RAW_PAYLOAD",),
)
async def sign_raw_payloads(
    execution: ExecutionWith[PayloadsToSign], _: SignRawPayloadsIntent
) -> OutputWithoutChanges[SignRawPayloadsResult]:
    """Sign several raw payloads with one wallet account or private key."""
    signatures = await _payload_signatures(execution)
    _warn_of_empty_domain(execution)
    return OutputWithoutChanges(result=SignRawPayloadsResult(signatures=tuple(map(_result, signatures))))


# A transaction


class SignTransactionIntentV2(RequestStruct, frozen=True):
    """`unsigned_transaction` is hex, with or without 0x."""

    sign_with: SignWith
    unsigned_transaction: str
    type: TransactionType
    external_signer_pubkey: NotSupported | None = None


class SignTransactionIntent(RequestStruct, frozen=True):
    """The key is named by `private_key_id`; or by `sign_with`, which some published clients send with this type."""

    unsigned_transaction: str
    type: TransactionType
    private_key_id: Uuid | None = None
    sign_with: SignWith | None = None

    def __post_init__(self) -> None:
        _key_of(self.private_key_id, self.sign_with)


class SignTransactionResult(Wire, frozen=True):
    """Hex in lower case, without 0x."""

    signed_transaction: str


class TransactionToSign(msgspec.Struct, frozen=True):
    """A transaction that was read, and the key that is to sign it."""

    named: NamedKey
    kind: TransactionType
    transaction: UnsignedTransaction
    keywords: ResourceKeywords


def upgraded_transaction(older: SignTransactionIntent) -> SignTransactionIntentV2:
    return SignTransactionIntentV2(
        sign_with=_key_of(older.private_key_id, older.sign_with),
        unsigned_transaction=older.unsigned_transaction,
        type=older.type,
    )


async def load_transaction(source: ContextSource, intent: SignTransactionIntentV2) -> TransactionToSign:
    named = await key_named(source, intent.sign_with)
    unsigned = hex_bytes(intent.unsigned_transaction)
    if unsigned is None:
        raise unparsable("field `parameters.unsignedTransaction`: expected pairs of hex digits")
    run = partial(source.share.run, source.organization.id, Work.TRANSACTION)
    transaction = await run(lambda: parse_transaction(intent.type, unsigned, named.party))
    if transaction.valid_on_every_chain and not source.transactions.legacy_without_chain_id:
        raise unparsable(
            "it names no chain id, so it is valid on every chain: name one (EIP-155), or set "
            "KEYSTEAD_SIGN_LEGACY_WITHOUT_CHAIN_ID on the server"
        )
    interfaces = await interfaces_of(source, intent.type, transaction.contracts)
    description = await run(lambda: transaction.describe(interfaces))
    keywords = ResourceKeywords({**named.keywords, **description.keywords})
    return TransactionToSign(named, intent.type, transaction, keywords)


_INTERFACES: Final = {
    TransactionType.ETHEREUM: SmartContractInterfaceType.ETHEREUM,
    TransactionType.SOLANA: SmartContractInterfaceType.SOLANA,
}
"""Chains whose contracts can have an interface on record."""


async def interfaces_of(
    source: ContextSource, kind: TransactionType, contracts: Sequence[str]
) -> Mapping[str, ParsedInterface]:
    """The interfaces that the organization has of these contracts, by address."""
    organization, interface_type = source.organization, _INTERFACES.get(kind)
    if interface_type is None:
        return {}
    by_contract = organization.contract_interfaces.by_contract
    addresses = {
        id_: address
        for address in contracts
        if (id_ := by_contract.get(contract_key(interface_type, address))) is not None
    }
    cached = {id_: source.cache.interfaces.get(id_) for id_ in addresses}
    missing = [id_ for id_, interface in cached.items() if interface is None]
    texts = await source.store.attached.interface_texts_of(organization.id, missing) if missing else {}
    for id_, text in texts.items():
        interface = cached[id_] = read_interface(interface_type, text)
        source.cache.interfaces.put(id_, interface, measured_bytes(interface))
    return {addresses[id_]: interface for id_, interface in cached.items() if interface is not None}


def transaction_keywords(
    _: Organization, __: SignTransactionIntentV2, context: TransactionToSign
) -> ResourceKeywords:
    return context.keywords


def _payers(movements: Sequence[Movement]) -> frozenset[str]:
    """Who pays the fee: the account that signs, unless the transaction leaves the fee to another one."""
    return frozenset(
        [each.from_ for each in movements if each.kind is MovementKind.FEE and isinstance(each.from_, str)]
    )


def transaction_movements(context: TransactionToSign) -> SignedMovements:
    """What the transaction moves, on which chain."""
    movements, party, values = context.transaction.movements, context.named.party, context.keywords.values
    match context.kind:
        case TransactionType.ETHEREUM | TransactionType.TEMPO:
            chain_id = values["eth" if context.kind is TransactionType.ETHEREUM else "tempo"]["tx"]["chain_id"]
            reference = str(chain_id) if isinstance(chain_id, int) else None
            return SignedMovements(namespace=EVM, reference=reference, own=_payers(movements), movements=movements)
        case TransactionType.SOLANA:
            return SignedMovements(namespace=SOLANA, own=frozenset({base58(party.compressed)}), movements=movements)
        case TransactionType.TRON:
            return SignedMovements(namespace=TRON, own=_payers(movements), movements=movements)
        case TransactionType.BITCOIN:
            return SignedMovements(namespace=BITCOIN, movements=movements)
        case _:
            assert_never(context.kind)


@activity(
    "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
    accepts=(older("ACTIVITY_TYPE_SIGN_TRANSACTION", upgraded_transaction),),
    load_context=load_transaction,
    resources=transaction_keywords,
    signs=transaction_movements,
)
async def sign_transaction(
    execution: ExecutionWith[TransactionToSign], _: SignTransactionIntentV2
) -> OutputWithoutChanges[SignTransactionResult]:
    """Sign a transaction with a wallet account or a private key."""
    transaction = execution.context.transaction
    signatures = await _signatures(execution, execution.context.named, transaction.scheme, transaction.messages)
    signed = await execution.share.run(
        execution.organization.id, Work.TRANSACTION, lambda: transaction.assemble(signatures)
    )
    return OutputWithoutChanges(result=SignTransactionResult(signed_transaction=signed.hex()))
