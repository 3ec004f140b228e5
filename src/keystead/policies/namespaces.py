"""What an expression can name: the keywords of each clause, their fields, and the type of each. Data only.

Not here: the values (`request`, `operations`), and how a path is checked (`type_checker`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from keystead.policies.types import ListOf, MapOf, Scalar, StructOf, Type


class Clause(StrEnum):
    """The three expressions of a policy: who, what, when."""

    CONSENSUS = "consensus"
    CONDITION = "condition"
    TIME = "time"


_BOOL, _INT = Scalar.BOOL, Scalar.INT
_STRING, _HEX, _ADDRESS = Scalar.STRING, Scalar.HEX, Scalar.ADDRESS
_NUMERAL, _DYNAMIC = Scalar.NUMERAL, Scalar.DYNAMIC
_STRINGS, _INTS = ListOf(_STRING), ListOf(_INT)


def _struct(**fields: Type) -> StructOf:
    """A struct; a trailing underscore is dropped from a name that Python reserves."""
    return StructOf({name.rstrip("_"): kind for name, kind in fields.items()})


# Consensus

_USER = _struct(id=_STRING, tags=_STRINGS, email=_STRING, alias=_STRING)
_CREDENTIAL = _struct(id=_STRING, user_id=_STRING, type=_STRING, credential_id=_STRING, public_key=_STRING)

# Keys

_WALLET = _struct(id=_STRING, label=_STRING, imported=_BOOL, exported=_BOOL)
_WALLET_ACCOUNT = _struct(address=_ADDRESS, path_indexes=_INTS, path_hardened=ListOf(_BOOL))
_PRIVATE_KEY = _struct(id=_STRING, label=_STRING, tags=_STRINGS, imported=_BOOL, exported=_BOOL)
_SECRET = _struct(static_properties=MapOf(_STRING), request_context=MapOf(_STRING))

# Transactions

_ETH_TX = _struct(
    from_=_HEX,
    to=_HEX,
    data=_HEX,
    value=_INT,
    gas=_INT,
    gas_price=_INT,
    chain_id=_INT,
    nonce=_INT,
    max_fee_per_gas=_INT,
    max_priority_fee_per_gas=_INT,
    max_fee_per_blob_gas=_INT,
    type=_STRING,
    function_name=_STRING,
    function_signature=_HEX,
    contract_call_args=MapOf(_DYNAMIC),
)
_EIP_712 = _struct(
    primary_type=_STRING,
    domain=_struct(name=_STRING, version=_STRING, verifying_contract=_HEX, chain_id=_INT),
    message=MapOf(_DYNAMIC),
)
_EIP_7702 = _struct(address=_HEX, chain_id=_NUMERAL, nonce=_NUMERAL)

_ADDRESS_TABLE_LOOKUPS = ListOf(_struct(address_table_key=_STRING, writable_indexes=_INTS, readonly_indexes=_INTS))
_PARSED_INSTRUCTION = _struct(
    instruction_name=_STRING,
    discriminator=_HEX,
    # The documentation spells it both ways.
    named_account=MapOf(_STRING),
    named_accounts=MapOf(_STRING),
    program_call_args=MapOf(_DYNAMIC),
)
_SOLANA_TX = _struct(
    account_keys=_STRINGS,
    program_keys=_STRINGS,
    recent_blockhash=_STRING,
    instructions=ListOf(
        _struct(
            program_key=_STRING,
            accounts=ListOf(_struct(account_key=_STRING, signer=_BOOL, writable=_BOOL)),
            instruction_data_hex=_HEX,
            address_table_lookups=_ADDRESS_TABLE_LOOKUPS,
            parsed_instruction_data=_PARSED_INSTRUCTION,
        )
    ),
    transfers=ListOf(_struct(from_=_STRING, to=_STRING, amount=_INT)),
    spl_transfers=ListOf(
        _struct(from_=_STRING, to=_STRING, owner=_STRING, token_mint=_STRING, amount=_INT, signers=_STRINGS)
    ),
    address_table_lookups=_ADDRESS_TABLE_LOOKUPS,
)

_TRON_PERMISSION = _struct(
    type=_STRING,
    id=_INT,
    permission_name=_STRING,
    threshold=_INT,
    parent_id=_INT,
    operations=_HEX,
    keys=ListOf(_struct(address=_STRING, weight=_INT)),
)
_TRON_TX = _struct(
    ref_block_bytes=_HEX,
    ref_block_hash=_HEX,
    data=_HEX,
    expiration=_INT,
    timestamp=_INT,
    fee_limit=_INT,
    # The fields of every contract type together: those of another type are absent at evaluation.
    contract=ListOf(
        _struct(
            type=_STRING,
            permission_id=_INT,
            owner_address=_STRING,
            to_address=_STRING,
            amount=_INT,
            contract_address=_STRING,
            call_value=_INT,
            data=_HEX,
            call_token_value=_INT,
            token_id=_INT,
            resource=_STRING,
            balance=_INT,
            receiver_address=_STRING,
            lock=_BOOL,
            lock_period=_INT,
            frozen_balance=_INT,
            unfreeze_balance=_INT,
            owner=_TRON_PERMISSION,
            witness=_TRON_PERMISSION,
            actives=ListOf(_TRON_PERMISSION),
        )
    ),
)

_BITCOIN_TX = _struct(
    version=_STRING,
    inputs=ListOf(_struct(tx_id=_HEX, vout=_INT, sequence=_INT)),
    outputs=ListOf(_struct(value=_INT, script_pubkey=_HEX, address=_ADDRESS, address_type=_STRING)),
    locktime=_struct(amount=_INT, type=_STRING),
    fee=_INT,
)

_TEMPO_TX = _struct(
    chain_id=_INT,
    nonce=_INT,
    gas_limit=_INT,
    max_fee_per_gas=_INT,
    max_priority_fee_per_gas=_INT,
    valid_before=_INT,
    valid_after=_INT,
    from_=_HEX,
    fee_token=_HEX,
    calls=ListOf(_struct(to=_HEX, input=_HEX, function_signature=_HEX)),
)

# The activity and its parameters

_DERIVATION = _struct(type=_STRING, signing_leaf=_struct(leaf_id=_STRING), static_deposit=_struct(index=_INT))
_OPERATOR_RECIPIENTS = ListOf(_struct(operator_id=_STRING, encryption_public_key=_STRING))
_SPARK_SIGNATURE = _struct(
    derivation=_DERIVATION,
    message=_STRING,
    verifying_key=_STRING,
    operator_commitments=ListOf(_struct(id=_STRING, hiding=_STRING, binding=_STRING)),
    adaptor_public_key=_STRING,
)
_SPARK_TRANSFER = _struct(
    transfer_id=_STRING,
    leaves=ListOf(
        _struct(
            leaf_id=_STRING,
            old_leaf_derivation=_DERIVATION,
            new_leaf_derivation=_DERIVATION,
            refund_signature=_STRING,
            direct_refund_signature=_STRING,
            direct_from_cpfp_refund_signature=_STRING,
        )
    ),
    threshold=_INT,
    operator_recipients=_OPERATOR_RECIPIENTS,
    receiver_public_key=_STRING,
)
_SPARK_CLAIM = _struct(
    leaves=ListOf(_struct(leaf_id=_STRING, ciphertext=_STRING, sender_signature=_STRING)),
    threshold=_INT,
    operator_recipients=_OPERATOR_RECIPIENTS,
    transfer_id=_STRING,
    sender_identity_public_key=_STRING,
)

_PAYLOAD: Mapping[str, Type] = {"hash_function": _STRING, "encoding": _STRING}
_EXPORT: Mapping[str, Type] = {"target_public_key": _HEX}
_LOGIN: Mapping[str, Type] = {"session_profile_id": _STRING}
_WEBHOOK: Mapping[str, Type] = {"endpoint_id": _STRING}

PARAMS: Mapping[str, Mapping[str, Type]] = {
    "SIGN_RAW_PAYLOAD": _PAYLOAD,
    "SIGN_RAW_PAYLOADS": _PAYLOAD,
    "SIGN_TRANSACTION": {"type": _STRING},
    "DELETE_USERS": {"user_ids": _STRINGS},
    "CREATE_API_KEYS": {"user_id": _STRING},
    "DELETE_API_KEYS": {"user_id": _STRING, "api_key_ids": _STRINGS},
    "EXPORT_WALLET": _EXPORT,
    "EXPORT_WALLET_ACCOUNT": _EXPORT,
    "EXPORT_PRIVATE_KEY": _EXPORT,
    "UPDATE_WALLET": {"wallet_id": _STRING},
    "INIT_OTP_AUTH": {"otp_length": _INT},
    "OTP_LOGIN": _LOGIN,
    "STAMP_LOGIN": _LOGIN,
    "OAUTH_LOGIN": _LOGIN,
    "UPDATE_WEBHOOK_ENDPOINT": _WEBHOOK,
    "DELETE_WEBHOOK_ENDPOINT": _WEBHOOK,
    "SPARK_SIGN_FROST": {"sign_with": _STRING, "signatures": ListOf(_SPARK_SIGNATURE)},
    "SPARK_PREPARE_TRANSFER": {"sign_with": _STRING, "transfer": _SPARK_TRANSFER},
    "SPARK_CLAIM_TRANSFER": {"sign_with": _STRING, "claim": _SPARK_CLAIM},
    "SPARK_PREPARE_LIGHTNING_RECEIVE": {
        "sign_with": _STRING,
        "lightning_receive": _struct(threshold=_INT, operator_recipients=_OPERATOR_RECIPIENTS),
    },
}
"""What `activity.params` holds, by kind of activity: the parameters of every version, as the current version names
them. Nothing else in a request can be named."""

_ACTIVITY = _struct(
    type=Scalar.ACTIVITY_TYPE,
    kind=_STRING,
    resource=_STRING,
    action=_STRING,
    # A policy is written before any activity: at creation, the parameters of every type can be named.
    params=StructOf({name: kind for params in PARAMS.values() for name, kind in params.items()}),
)

KEYWORDS: Mapping[Clause, Mapping[str, Type]] = {
    Clause.CONSENSUS: {"approvers": ListOf(_USER), "credentials": ListOf(_CREDENTIAL)},
    Clause.CONDITION: {
        "activity": _ACTIVITY,
        "wallet": _WALLET,
        "wallets": ListOf(_WALLET),
        "wallet_account": _WALLET_ACCOUNT,
        "private_key": _PRIVATE_KEY,
        "secret": _SECRET,
        "eth": _struct(tx=_ETH_TX, eip_712=_EIP_712, eip_7702_authorization=_EIP_7702),
        "solana": _struct(tx=_SOLANA_TX),
        "tron": _struct(tx=_TRON_TX),
        "bitcoin": _struct(tx=_BITCOIN_TX),
        "tempo": _struct(tx=_TEMPO_TX),
    },
    Clause.TIME: {"time": _struct(now=Scalar.TIMESTAMP)},
}
"""The keywords of each clause. One that is absent from a request fails the expression that names it."""

TRANSACTION_KEYWORDS: Final = frozenset({"eth", "solana", "tron", "bitcoin", "tempo"})
"""Keywords whose field `tx` is a transaction."""
