"""The type of the developer's controls: a name under /dev/v1, a function that reads, a function that changes.

Not here: the controls (one module each), HTTP (`application`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

ENTRIES_MAX = 1_000
"""The most entries that a control keeps, such as faults that wait for a request."""


class ControlRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The body of a POST."""


class ControlAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of an answer."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """`read` returns the answer to GET, `change` the answer to POST with a body of type `change_type`.

    A control has one of the two, or both. If `change` raises ServiceError, nothing has changed.
    """

    name: str
    read: Callable[[], Any] | None = None
    change: Callable[[Any], Awaitable[Any]] | None = None
    change_type: type[ControlRequest] = ControlRequest
