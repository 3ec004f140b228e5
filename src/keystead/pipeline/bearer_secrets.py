"""Does a request hold a secret that anybody who reads it can use: a verification token without a key, a one-time
code in plain text?

The request of an activity that waits is on record, and all users of the organization and of its parent read it.
While it waits, the secret is not used up: a reader could log in with it, through an authentication proxy even
without rights. So such a request is carried out at once or refused. The texts of the intent are searched, so no
operation has to declare it. Not here: verifying tokens and codes (`operations.logins`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from keystead.api.errors import PermissionDenied
from keystead.api.parameters import RequestStruct
from keystead.sessions.verification_tokens import claimed_id_without_key

_CODE: Final = "otp_code"


def check_may_wait(intent: RequestStruct) -> None:
    """Raise PermissionDenied if an activity with this intent may not wait for approvals or proofs."""
    if getattr(intent, _CODE, ""):
        raise _refusal("a one-time code", "send it encrypted")
    if any(claimed_id_without_key(text) is not None for text in _texts(msgspec.to_builtins(intent))):
        raise _refusal("a verification token that names no key", "name a key in verify_otp")


def _refusal(what: str, how: str) -> PermissionDenied:
    return PermissionDenied(
        f"the request holds {what}, and cannot wait for approvals or proofs: meanwhile everybody who may read the "
        f"activity could use it. {how.capitalize()}, or let a policy allow the request at once"
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
