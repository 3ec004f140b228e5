"""Contract interfaces: ABIs and IDLs, by which policies can read calls to contracts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS, Label, Notes
from keystead.api.enums import SmartContractInterfaceType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import SmartContractInterface, Timestamp, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.attachments import InterfaceText
from keystead.organizations.contract_interfaces import check_free, check_interface
from keystead.organizations.kinds.contract_interfaces import ContractInterface, ContractInterfaces
from keystead.organizations.organization import Put, Remove
from keystead.pipeline.execution import Execution, Output


class CreateSmartContractInterfaceIntent(RequestStruct, frozen=True):
    """`smart_contract_interface` is the ABI or IDL as JSON text, at most 409,600 bytes of UTF-8."""

    smart_contract_address: Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_CONTROLS)]
    smart_contract_interface: str
    type: SmartContractInterfaceType
    label: Label
    notes: Notes | None = None


class CreateSmartContractInterfaceResult(Wire, frozen=True):
    smart_contract_interface_id: str


@activity("ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE")
def create_smart_contract_interface(
    execution: Execution, intent: CreateSmartContractInterfaceIntent
) -> Output[CreateSmartContractInterfaceResult]:
    """Store the ABI or IDL of a contract, so that policies can read calls to it."""
    check_interface(intent.type, intent.smart_contract_address, intent.smart_contract_interface)
    text_bytes = len(intent.smart_contract_interface.encode())
    check_free(execution.organization, intent.type, intent.smart_contract_address, text_bytes, execution.limits)
    now = Timestamp.from_ms(execution.now_ms)
    interface = ContractInterface(
        id=execution.new_id(),
        address=intent.smart_contract_address,
        type=intent.type,
        label=intent.label,
        notes=intent.notes or "",
        text_bytes=text_bytes,
        created_at=now,
        updated_at=now,
    )
    return Output(
        result=CreateSmartContractInterfaceResult(smart_contract_interface_id=interface.id),
        changes=(Put(interface),),
        attachments=(InterfaceText(interface.id, intent.smart_contract_interface),),
    )


class GetSmartContractInterfaceRequest(QueryRequest, frozen=True):
    smart_contract_interface_id: Uuid


class GetSmartContractInterfaceResponse(Wire, frozen=True):
    smart_contract_interface: SmartContractInterface


@query()
async def get_smart_contract_interface(
    reading: Reading, request: GetSmartContractInterfaceRequest
) -> GetSmartContractInterfaceResponse:
    """One contract interface."""
    interface_id = request.smart_contract_interface_id
    interface = reading.organization.record(ContractInterfaces, interface_id)
    row = await reading.store.attached.get(InterfaceText, reading.organization.id, interface_id)
    if row is None:  # it was deleted after this version of the organization
        raise reading.organization.not_found(ContractInterfaces, interface_id)
    return GetSmartContractInterfaceResponse(
        smart_contract_interface=_record(reading.organization.id, interface, row.text)
    )


class ListSmartContractInterfacesRequest(QueryRequest, frozen=True):
    pass


class ListSmartContractInterfacesResponse(Wire, frozen=True):
    smart_contract_interfaces: tuple[SmartContractInterface, ...]


@query()
async def list_smart_contract_interfaces(
    reading: Reading, _: ListSmartContractInterfacesRequest
) -> ListSmartContractInterfacesResponse:
    """All contract interfaces of the organization."""
    # The API has no pages for this list. A limit on the bytes of all texts (`kinds.contract_interfaces`) bounds it.
    organization = reading.organization
    texts = await reading.store.attached.interface_texts(organization.id)
    return ListSmartContractInterfacesResponse(
        smart_contract_interfaces=tuple(
            _record(organization.id, interface, texts[interface.id])
            for interface in organization.contract_interfaces.in_order()
            if interface.id in texts
        )
    )


def _record(organization_id: str, interface: ContractInterface, text: str) -> SmartContractInterface:
    return SmartContractInterface(
        organization_id=organization_id,
        smart_contract_interface_id=interface.id,
        smart_contract_address=interface.address,
        smart_contract_interface=text,
        type=interface.type,
        label=interface.label,
        notes=interface.notes,
        created_at=interface.created_at,
        updated_at=interface.updated_at,
    )


class DeleteSmartContractInterfaceIntent(RequestStruct, frozen=True):
    smart_contract_interface_id: Uuid


class DeleteSmartContractInterfaceResult(Wire, frozen=True):
    smart_contract_interface_id: str


@activity("ACTIVITY_TYPE_DELETE_SMART_CONTRACT_INTERFACE")
def delete_smart_contract_interface(
    execution: Execution, intent: DeleteSmartContractInterfaceIntent
) -> Output[DeleteSmartContractInterfaceResult]:
    """Delete the ABI or IDL of a contract."""
    interface_id = execution.organization.record(ContractInterfaces, intent.smart_contract_interface_id).id
    return Output(
        result=DeleteSmartContractInterfaceResult(smart_contract_interface_id=interface_id),
        changes=(Remove(ContractInterface, interface_id),),
        attachments=(InterfaceText.removal(interface_id),),
    )
