"""Which sub-organization has a value: for logins that name the parent, and for authentication proxies.

Here: the one sub-organization, and when it is ambiguous. Not here: which value a request looks up
(`organizations.principals`, the operations), the index (`storage`).
"""

from __future__ import annotations

from keystead.organizations.lookups import AccountLookupKind
from keystead.organizations.principals import ambiguous_value_error
from keystead.pipeline.store import Store


async def suborganization_with(store: Store, parent_id: str, kind: AccountLookupKind, value: str) -> str | None:
    """The id of the parent's sub-organization that this value finds; None if it finds none. Raises Unauthenticated
    if it finds several."""
    ids = await store.suborganizations_with(parent_id, kind, value)
    if len(ids) > 1:
        raise ambiguous_value_error(kind)
    return ids[0] if ids else None
