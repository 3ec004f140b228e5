"""Answers with many records, record by record, so that other requests are answered in between.

Not here: the forms of answers (`api.rendering`), the slices of time (`pipeline.time_slices`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keystead.api.records import Wire
from keystead.api.rendering import Form, answer, encode, holds_activities, to_documented_form
from keystead.pipeline.time_slices import TimeSlices

LARGE: Final = 200
"""An answer with more records than this is large. Records in records count, such as the credentials of users."""

_LIST: Final = b"\0"
"""This byte stands for a list. JSON does not contain it."""


def is_large(response: Wire) -> bool:
    """Whether to render the answer record by record. Pages of activities are bounded, and are not large."""
    return not holds_activities(type(response)) and any(True for _ in islice(_records(response), LARGE, None))


def _records(struct: msgspec.Struct) -> Iterator[None]:
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        for item in value if isinstance(value, tuple) else ():
            yield None
            if isinstance(item, msgspec.Struct):
                yield from _records(item)
        if isinstance(value, msgspec.Struct):
            yield from _records(value)


async def large_answer(organization_id: str, response: Wire, form: Form, slices: TimeSlices) -> bytes:
    """The same bytes as `rendering.answer`."""

    def encoded(item: Any) -> bytes:
        return encode(item if form is Form.SDK else to_documented_form(item))

    lists: list[tuple[Any, ...]] = []
    first, *others = answer(_without_lists(response, lists), form).split(_LIST)
    parts = [first]
    for items, after in zip(lists, others, strict=True):
        parts += [b"[", b",".join(await slices.each(organization_id, encoded, items)), b"]", after]
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
