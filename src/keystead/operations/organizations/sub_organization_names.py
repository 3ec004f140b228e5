"""Sub-organizations with their names: a query of our own, for people, who do not know them by id.

Not here: which sub-organizations a filter finds (`organizations.list_suborgs`).
"""

from __future__ import annotations

from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import Reading, query
from keystead.operations.organizations.organizations import ListSuborgsRequest, list_suborgs
from keystead.primitives.share import pause


class NamedSubOrganization(Wire, frozen=True):
    """`user_count`: how many users it has."""

    organization_id: str
    name: str
    user_count: int
    created_at: Timestamp


class ListNamedSuborgsRequest(ListSuborgsRequest, frozen=True):
    """As in list_suborgs."""


class ListNamedSuborgsResponse(Wire, frozen=True):
    sub_organizations: tuple[NamedSubOrganization, ...]


@query(own=True)
async def list_named_suborgs(reading: Reading, request: ListNamedSuborgsRequest) -> ListNamedSuborgsResponse:
    """Sub-organizations of the organization with their names, by page; the same as list_suborgs finds."""
    found = await list_suborgs(reading, request)
    named: list[NamedSubOrganization] = []
    for organization_id in found.organization_ids:
        organization = await reading.store.organization(organization_id)
        if organization is not None:
            profile = organization.profile
            named.append(
                NamedSubOrganization(
                    organization_id=organization_id,
                    name=profile.name,
                    user_count=len(organization.users),
                    created_at=profile.created_at,
                )
            )
        await pause()  # reading organizations takes time: other requests run in between
    return ListNamedSuborgsResponse(sub_organizations=tuple(named))
