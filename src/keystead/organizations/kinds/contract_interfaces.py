"""Contract interfaces, with a look-up by contract. Not here: their texts, which have a table (`attachments`)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.records import Timestamp
from keystead.organizations.limits import Limit
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.record_map import RecordMap

CONTRACT_INTERFACES = Limit(
    name="contract_interfaces",
    default=1_000,
    description="Most contract interfaces of an organization.",
    called="smart contract interfaces",
)


CONTRACT_INTERFACE_BYTES = Limit(
    name="contract_interface_bytes",
    default=16_777_216,
    description="Most bytes of the texts of all contract interfaces of an organization, which one query lists.",
    called="bytes of smart contract interfaces",
)


class ContractInterface(msgspec.Struct, frozen=True, kw_only=True):
    """A contract interface without its text, which is large. `text_bytes`: its size in UTF-8."""

    id: str
    address: str
    type: SmartContractInterfaceType
    label: str
    notes: str
    text_bytes: int
    created_at: Timestamp
    updated_at: Timestamp


class ContractInterfaces(RecordMap[ContractInterface], frozen=True):
    """`by_contract` maps a `contract_key` to the id of its interface. `text_bytes`: the size of all texts."""

    stored_name = "contract_interface"
    called = "smart contract interface"
    record = ContractInterface
    id_field = "id"
    limits = (CONTRACT_INTERFACES, CONTRACT_INTERFACE_BYTES)
    has_index = True

    by_contract: PersistentMap[str, str] = PersistentMap()
    text_bytes: int = 0

    def _index(self, record: ContractInterface) -> ContractInterfaces:
        contract = contract_key(record.type, record.address)
        by_contract = self.by_contract.set(contract, record.id)
        return replace(self, by_contract=by_contract, text_bytes=self.text_bytes + record.text_bytes)

    def _unindex(self, record: ContractInterface) -> ContractInterfaces:
        contract = contract_key(record.type, record.address)
        by_contract = self.by_contract.delete(contract)
        return replace(self, by_contract=by_contract, text_bytes=self.text_bytes - record.text_bytes)


def contract_key(kind: SmartContractInterfaceType, address: str) -> str:
    """One text for all spellings of an address. Letter case matters for Solana, and not for Ethereum."""
    return f"{kind}:{address.lower() if kind is SmartContractInterfaceType.ETHEREUM else address}"
