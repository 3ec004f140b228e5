"""Whether an activity shows what was stamped. A vote names a fingerprint, which is that of the stamped bytes.

Here: comparing the parameters that a server shows with those bytes. Not here: who stamped them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_CAUTION: Final = "what is shown here is not the request that a vote is for: "


def difference_from_stamped(activity: Mapping[str, Any]) -> str | None:
    """Why an activity does not show the request that its fingerprint is of; None where it does.

    activity: in its form in the API. One without votes shows no request, and so no difference.
    """
    requests = [vote["message"] for vote in activity.get("votes") or () if vote.get("message")]
    if not requests:
        return None
    stamped = next((each for each in requests if _fingerprint(each) == activity["fingerprint"]), None)
    if stamped is None:
        return f"{_CAUTION}no request that it shows has its fingerprint"
    try:
        request = msgspec.json.decode(stamped)
    except msgspec.DecodeError:
        return f"{_CAUTION}the stamped request is no JSON"
    if request.get("type") != activity["type"]:
        return f"{_CAUTION}the stamped request is of type {request.get('type')}"
    shown: Mapping[str, Any] = next(iter((activity.get("intent") or {}).values()), {})
    where = _difference(request.get("parameters"), shown, "parameters")
    return None if where is None else f"{_CAUTION}{where} differs"


def _fingerprint(message: str) -> str:
    return "sha256:" + hashlib.sha256(message.encode()).hexdigest()


def _difference(stamped: Any, shown: Any, where: str) -> str | None:
    """Where two values differ. A member that is empty is as one that is missing; a number is as its text."""
    match stamped, shown:
        case Mapping(), Mapping():
            for name in sorted(stamped.keys() | shown.keys()):
                if found := _difference(stamped.get(name), shown.get(name), f"{where}.{name}"):
                    return found
            return None
        case list(), list() if len(stamped) == len(shown):
            for index, (one, other) in enumerate(zip(stamped, shown, strict=True)):
                if found := _difference(one, other, f"{where}[{index}]"):
                    return found
            return None
        case _:
            is_same = stamped == shown or (not stamped and not shown) or str(stamped) == str(shown)
            return None if is_same else where
