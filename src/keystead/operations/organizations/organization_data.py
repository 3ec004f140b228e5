"""The whole organization in one answer: get_organization, for clients that show an overview.

Not here: the lists of one kind of record. Each is in the module of its subject.
"""

from __future__ import annotations

from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, PrivateKey, Tag, User, Wallet, Wire
from keystead.operations.declare import Reading, query
from keystead.operations.organizations.organizations import Feature, Quorum, shown_features, shown_quorum
from keystead.operations.users.invitations import InvitationRecord, shown_invitation


class SmartContractInterfaceReference(Wire, frozen=True):
    smart_contract_interface_id: str
    smart_contract_address: str


class OrganizationData(Wire, frozen=True):
    """`tags`: those of users and those of private keys. The texts of contract interfaces are left out."""

    organization_id: str
    name: str
    users: tuple[User, ...]
    policies: tuple[Policy, ...]
    private_keys: tuple[PrivateKey, ...]
    invitations: tuple[InvitationRecord, ...]
    tags: tuple[Tag, ...]
    root_quorum: Quorum
    features: tuple[Feature, ...]
    wallets: tuple[Wallet, ...]
    smart_contract_interface_references: tuple[SmartContractInterfaceReference, ...]


class GetOrganizationRequest(QueryRequest, frozen=True):
    pass


class GetOrganizationResponse(Wire, frozen=True):
    organization_data: OrganizationData


@query(of_version=True)
def get_organization(reading: Reading, _: GetOrganizationRequest) -> GetOrganizationResponse:
    """The organization with its users, policies, keys, wallets, tags, invitations, features and root quorum."""
    organization = reading.organization
    profile = organization.profile
    return GetOrganizationResponse(
        organization_data=OrganizationData(
            organization_id=organization.id,
            name=profile.name,
            users=tuple(organization.users.in_order()),
            policies=tuple(organization.policies.in_order()),
            private_keys=tuple(organization.private_keys.in_order()),
            invitations=tuple(map(shown_invitation, organization.invitations.in_order())),
            tags=tuple(organization.tags.in_order()),
            root_quorum=shown_quorum(profile.root_quorum),
            features=shown_features(profile.features),
            wallets=tuple(organization.wallets.in_order()),
            smart_contract_interface_references=tuple(
                SmartContractInterfaceReference(
                    smart_contract_interface_id=interface.id, smart_contract_address=interface.address
                )
                for interface in organization.contract_interfaces.in_order()
            ),
        )
    )
