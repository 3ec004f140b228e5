"""How the server answers a developer's control: a function that reads, a function that changes.

Not here: the declaration of the controls (`api.developer_controls`), what each does (one module each), HTTP
(`application`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from keystead.api.developer_controls import Control


class ServedControl(msgspec.Struct, frozen=True, kw_only=True):
    """`read` returns the answer to GET, `change` the answer to POST: each is there if the declaration has it.

    If `change` raises ServiceError, nothing has changed.
    """

    declared: Control[Any]
    read: Callable[[], Any] | None = None
    change: Callable[[Any], Awaitable[Any]] | None = None

    def __post_init__(self) -> None:
        assert self.declared.is_read == (self.read is not None)
        assert (self.declared.change is None) == (self.change is None)
