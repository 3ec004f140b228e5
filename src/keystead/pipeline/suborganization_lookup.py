"""Which sub-organization has a value: for logins that name the parent, and for authentication proxies.

Here: the one sub-organization, and when it is ambiguous. Not here: which value a request looks up
(`organizations.principals`, the operations), the index (`storage`).
"""

from __future__ import annotations

from typing import Final

from keystead.organizations.lookups import LookupKind
from keystead.organizations.principals import ambiguous_value_error
from keystead.pipeline.store import Store

_VERIFIED: Final = {
    LookupKind.EMAIL: LookupKind.VERIFIED_EMAIL,
    LookupKind.PHONE_NUMBER: LookupKind.VERIFIED_PHONE_NUMBER,
}


async def suborganization_with(store: Store, parent_id: str, kind: LookupKind, value: str) -> str | None:
    """The id of the parent's sub-organization that has this value; None if none has it.

    Anybody can sign up with another person's address. Therefore, if a contact is verified in some sub-organization,
    the sub-organizations in which it is not verified do not count. Raises Unauthenticated if several remain.
    """
    verified = _VERIFIED.get(kind)
    ids = await store.suborganizations_with(parent_id, verified, value) if verified is not None else []
    ids = ids or await store.suborganizations_with(parent_id, kind, value)
    if len(ids) > 1:
        raise ambiguous_value_error(kind)
    return ids[0] if ids else None
