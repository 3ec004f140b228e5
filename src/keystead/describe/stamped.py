"""Whether an activity shows the request that was stamped. A vote names the fingerprint of the stamped bytes.

Here: the comparison of the parameters that a server shows with the stamped bytes. Not here: who stamped them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_CAUTION: Final = "what is shown here is not the request that a vote is for: "


def difference_from_stamped(activity: Mapping[str, Any]) -> str | None:
    """Why an activity does not show the request of its fingerprint; None if it does.

    `activity`: its form in the API. An activity without votes shows no request, and therefore no difference.
    """
    requests = [vote["message"] for vote in activity.get("votes") or () if vote.get("message")]
    if not requests:
        return None
    stamped = next((request for request in requests if _fingerprint(request) == activity["fingerprint"]), None)
    if stamped is None:
        return f"{_CAUTION}no request that it shows has its fingerprint"
    try:
        request = msgspec.json.decode(stamped)
    except msgspec.DecodeError:
        return f"{_CAUTION}the stamped request is not JSON"
    if request.get("type") != activity["type"]:
        return f"{_CAUTION}the stamped request is of type {request.get('type')}"
    shown: Mapping[str, Any] = next(iter((activity.get("intent") or {}).values()), {})
    where = _difference(request.get("parameters"), shown, "parameters")
    return None if where is None else f"{_CAUTION}{where} differs"


def _fingerprint(message: str) -> str:
    return "sha256:" + hashlib.sha256(message.encode()).hexdigest()


def _difference(stamped: Any, shown: Any, where: str) -> str | None:
    """The path of the first difference between two values; None if they are equal. An empty member equals an absent
    one, and a number equals its text."""
    match stamped, shown:
        case Mapping(), Mapping():
            for name in sorted(stamped.keys() | shown.keys()):
                if difference := _difference(stamped.get(name), shown.get(name), f"{where}.{name}"):
                    return difference
            return None
        case list(), list() if len(stamped) == len(shown):
            for index, (stamped_item, shown_item) in enumerate(zip(stamped, shown, strict=True)):
                if difference := _difference(stamped_item, shown_item, f"{where}[{index}]"):
                    return difference
            return None
        case _:
            is_same = stamped == shown or (not stamped and not shown) or str(stamped) == str(shown)
            return None if is_same else where
