"""The credentials that an activity adds, as its operation declares them (`ActivityOperation.adds`), and as policies
see them.

Here: the values. Not here: the operations' declarations (`operations.added_credentials`), whether they may be added
(`policies.added_credentials`, `mfa`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from keystead.api.enums import CredentialType
from keystead.primitives.unreadable import Unreadable


class NewUser(msgspec.Struct, frozen=True):
    """A user whom the activity adds."""

    name: str
    email: str
    tags: Sequence[str]

    def as_approver(self) -> dict[str, Any]:
        """The user as a consensus will see it. Nobody has the id yet, so it equals no id in a policy."""
        return {"id": "", "tags": self.tags, "email": self.email, "alias": self.name}


class AddedCredential(msgspec.Struct, frozen=True, kw_only=True):
    """A credential that an activity adds.

    - `holder`: its user: an id, a new user, or None if only the execution finds out.
    - `is_session`: it is the key of a session.
    - `id`, `public_key`, `credential_id`: None if only the execution finds out; "" for what nobody has yet.
    """

    type: CredentialType
    holder: str | NewUser | None
    is_session: bool = False
    id: str = ""
    public_key: str | None = None
    credential_id: str | None = ""

    def as_value(self) -> Mapping[str, Any]:
        """The credential as a consensus will see it."""
        return {
            "id": self.id,
            "user_id": "" if isinstance(self.holder, NewUser) else _known(self.holder),
            "type": self.type,
            "credential_id": _known(self.credential_id),
            "public_key": _known(self.public_key),
        }


_LATER = Unreadable("it is known when the credential is added")


def _known(text: str | None) -> str | Unreadable:
    return _LATER if text is None else text
