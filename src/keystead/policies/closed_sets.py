"""The fields whose values are words of a closed set. Data only.

Not here: the type of a field (`language.namespaces`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from keystead.api.enums import CredentialType, HashFunction, PayloadEncoding, TransactionType
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.chains.movements import MovementKind
from keystead.policies.resources import GOVERNED_KINDS, ROOT_ONLY

WORDS: Final[Mapping[str, frozenset[str]]] = {
    "activity.type": frozenset(ACTIVITY_TYPES),
    "activity.kind": ROOT_ONLY.union(GOVERNED_KINDS),
    "activity.resource": frozenset(attributes.resource for attributes in GOVERNED_KINDS.values()),
    "activity.action": frozenset(attributes.action for attributes in GOVERNED_KINDS.values()),
    "activity.params.encoding": frozenset(PayloadEncoding),
    "activity.params.hash_function": frozenset(HashFunction),
    "activity.params.type": frozenset(TransactionType),
    "eth.tx.type": frozenset({"LEGACY", "TYPE_1", "TYPE_2", "TYPE_3", "TYPE_4"}),
    "solana.tx.version": frozenset({"LEGACY", "V0", "V1"}),
    "credentials[].type": frozenset(CredentialType),
    **dict.fromkeys(
        (
            *(f"{chain}.tx.movements[].kind" for chain in ("eth", "solana", "tron", "bitcoin", "tempo")),
            "eth.eip_712.movements[].kind",
        ),
        frozenset(MovementKind) - {MovementKind.FEE},
    ),
}
"""The values that a field can have, by its path; [] stands for an item of a list."""
