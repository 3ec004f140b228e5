"""The name of a key that stays in a PKCS#11 token. Not here: calling the token (`token_key`)."""

from __future__ import annotations

import msgspec


class TokenKeyName(msgspec.Struct, frozen=True, kw_only=True, tag="token"):
    """A key that stays in a PKCS#11 token. `module` is the path of the library that calls it.

    The PIN of the token's user is `pin`, or the first line of `pin_file`.
    """

    module: str
    token: str
    key: str
    pin: str = ""
    pin_file: str = ""

    def __repr__(self) -> str:
        return f"TokenKeyName(module={self.module!r}, token={self.token!r}, key={self.key!r})"
