"""Which form of an answer a caller reads, and answers with many records: these are rendered record by record, so
that other requests are answered in between.

Not here: the forms themselves (`api.rendering`), the turns of the organizations (`primitives.share`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keystead.api.records import Wire
from keystead.api.rendering import Form, answer, encode, holds_activities, to_documented_form
from keystead.primitives.share import Share
from keystead.server.http.messages import HttpRequest

_SDK_HEADERS: Final = frozenset({b"x-client-version", b"x-tvc-client-version"})
_SDK_AGENTS: Final = (b"turnkey-", b"Go-http-client/")


def form_of(request: HttpRequest, setting: str) -> Form:
    """The form of the answer to a request. `setting`: the form of every answer; `auto` recognizes published clients
    by the headers that they send."""
    if setting != "auto":
        return Form(setting)
    headers = dict(request.headers)
    is_sdk = not _SDK_HEADERS.isdisjoint(headers) or headers.get(b"user-agent", b"").startswith(_SDK_AGENTS)
    return Form.SDK if is_sdk else Form.DOCUMENTED


LARGE: Final = 20
"""An answer with a list of more records than this is large."""

_LIST: Final = b"\0"
"""This byte stands for a list. JSON does not contain it."""


def is_large(response: Wire) -> bool:
    """Whether to render the answer record by record. Pages of activities are bounded, and are not large."""
    if holds_activities(type(response)):
        return False
    structs: list[msgspec.Struct] = [response]
    for struct in structs:  # it grows
        for value in msgspec.structs.astuple(struct):
            if isinstance(value, tuple) and len(value) > LARGE:
                return True
            if isinstance(value, msgspec.Struct):
                structs.append(value)
    return False


async def large_answer(organization_id: str, response: Wire, form: Form, share: Share) -> bytes:
    """The same bytes as `rendering.answer`."""

    def encoded(item: Any) -> bytes:
        return encode(item if form is Form.SDK else to_documented_form(item))

    lists: list[tuple[Any, ...]] = []
    first, *others = answer(_without_lists(response, lists), form).split(_LIST)
    parts = [first]
    for items, after in zip(lists, others, strict=True):
        parts += [b"[", b",".join(await share.each(organization_id, encoded, items)), b"]", after]
    return b"".join(parts)


def _without_lists(struct: Any, lists: list[tuple[Any, ...]]) -> Any:
    """The struct with `_LIST` instead of each list, which are added to `lists` in the order of the answer."""
    changed: dict[str, Any] = {}
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, tuple) and value:
            lists.append(value)
            changed[name] = msgspec.Raw(_LIST)
        elif isinstance(value, msgspec.Struct):
            changed[name] = _without_lists(value, lists)
    return replace(struct, **changed) if changed else struct
