"""Which sub-organization a value leads to: for logins that name the parent, and for authentication proxies.

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

    Anybody can sign up with another person's address. So where a contact is verified in a sub-organization, those
    in which it is not verified do not count. Raises Unauthenticated if several sub-organizations are left.
    """
    verified = _VERIFIED.get(kind)
    found = await store.suborganizations_with(parent_id, verified, value) if verified is not None else []
    found = found or await store.suborganizations_with(parent_id, kind, value)
    if len(found) > 1:
        raise ambiguous_value_error(kind)
    return found[0] if found else None
