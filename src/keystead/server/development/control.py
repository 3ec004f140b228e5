"""What one of the developer's controls is: a name under /dev/v1, how it is read, how it is changed.

Not here: the controls (one module each), HTTP (`application`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

PREVIOUS_MAX = 1_000
"""The most entries of any kind that a control remembers."""


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
