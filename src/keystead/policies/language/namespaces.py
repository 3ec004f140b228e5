"""What an expression can name: the keywords of each clause, their fields, and the type of each, also of facts that
a chain declares. Data only.

Not here: the fields of transactions, which each chain declares (`chains.<chain>.facts`), the values (`request`,
`operations`), and how a path is checked (`type_checker`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

from keystead.chains.bitcoin.facts import BitcoinTransaction
from keystead.chains.ethereum.facts import AuthorizationFacts, EthereumTransaction, TempoTransaction, TypedDataFacts
from keystead.chains.facts import FactForm
from keystead.chains.solana.facts import SolanaTransaction
from keystead.chains.tron.facts import TronTransaction
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type
from keystead.primitives.unreadable import Unreadable

CONTROLS: Final = "controls"
"""The keyword with the organization's velocity controls, by their identifiers."""

_OF_FORM: Final[Mapping[FactForm, Scalar]] = {
    FactForm.HEX: Scalar.HEX,
    FactForm.ADDRESS: Scalar.ADDRESS,
    FactForm.NUMERAL: Scalar.NUMERAL,
    FactForm.ARGUMENT: Scalar.DYNAMIC,
}
_OF_CLASS: Final[Mapping[type, Scalar]] = {bool: Scalar.BOOL, int: Scalar.INT, str: Scalar.STRING}


def type_of_fact(declared: Any) -> Type:
    """The type of a fact by its declaration. The type does not say whether it may be Unreadable."""
    if is_typeddict(declared):
        fields = get_type_hints(declared, include_extras=True)
        return StructOf({name: type_of_fact(field) for name, field in fields.items()})
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _OF_FORM[arguments[1]]
    if origin in (UnionType, Union):
        (readable,) = [argument for argument in arguments if argument is not Unreadable]
        return type_of_fact(readable)
    if origin is list:
        return ListOf(type_of_fact(*arguments))
    if origin is dict:
        return MapOf(type_of_fact(arguments[1]))
    return _OF_CLASS[declared]


class Clause(StrEnum):
    """The three expressions of a policy: who, what, when."""

    CONSENSUS = "consensus"
    CONDITION = "condition"
    TIME = "time"


_BOOL, _INT, _STRING, _HEX, _ADDRESS = Scalar.BOOL, Scalar.INT, Scalar.STRING, Scalar.HEX, Scalar.ADDRESS
_STRINGS, _INTS = ListOf(_STRING), ListOf(_INT)


def _struct(**fields: Type) -> StructOf:
    return StructOf(fields)


def _namespace(**fields: Type) -> StructOf:
    return StructOf(fields, is_namespace=True)


# Consensus

_USER = _struct(id=_STRING, tags=_STRINGS, email=_STRING, alias=_STRING)
_CREDENTIAL = _struct(id=_STRING, user_id=_STRING, type=_STRING, credential_id=_STRING, public_key=_STRING)

# Keys

_WALLET = _struct(id=_STRING, label=_STRING, imported=_BOOL, exported=_BOOL)
_WALLET_ACCOUNT = _struct(address=_ADDRESS, path_indexes=_INTS, path_hardened=ListOf(_BOOL))
_PRIVATE_KEY = _struct(id=_STRING, label=_STRING, tags=_STRINGS, imported=_BOOL, exported=_BOOL)
_SECRET = _struct(static_properties=MapOf(_STRING), request_context=MapOf(_STRING))

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

_ACTIVITY = _namespace(
    type=Scalar.ACTIVITY_TYPE,
    kind=_STRING,
    resource=_STRING,
    action=_STRING,
    # A policy is written before any activity: at creation, the parameters of every type can be named.
    params=_namespace(**{name: kind for params in PARAMS.values() for name, kind in params.items()}),
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
        "eth": _namespace(
            tx=type_of_fact(EthereumTransaction),
            eip_712=type_of_fact(TypedDataFacts),
            eip_7702_authorization=type_of_fact(AuthorizationFacts),
        ),
        "solana": _namespace(tx=type_of_fact(SolanaTransaction)),
        "tron": _namespace(tx=type_of_fact(TronTransaction)),
        "bitcoin": _namespace(tx=type_of_fact(BitcoinTransaction)),
        "tempo": _namespace(tx=type_of_fact(TempoTransaction)),
        CONTROLS: NamedByOrganization(_BOOL),
    },
    Clause.TIME: {"time": _struct(now=Scalar.TIMESTAMP)},
}
"""The names at which expressions of each clause begin. A namespace groups keywords: `eth` has `eth.tx`. Every other
name, such as `wallet`, is a keyword itself. An activity fills some of the keywords."""

TRANSACTION_KEYWORDS: Final = frozenset({"eth", "solana", "tron", "bitcoin", "tempo"})
"""Namespaces whose field `tx` is a transaction."""


def keywords_in(values: Mapping[str, Any]) -> frozenset[str]:
    """The keywords that these values of a request fill, such as `activity.kind`, `wallet` and `eth.tx`."""
    return frozenset(_keywords(values, _NAMES, ""))


_NAMES: Final = {name: kind for names in KEYWORDS.values() for name, kind in names.items()}


def _keywords(values: Mapping[str, Any], names: Mapping[str, Type], prefix: str) -> Iterator[str]:
    for name in values:
        kind = names.get(name)
        if isinstance(kind, StructOf) and kind.is_namespace:
            yield from _keywords(values[name], kind.fields, f"{prefix}{name}.")
        elif kind is not None:
            yield prefix + name
