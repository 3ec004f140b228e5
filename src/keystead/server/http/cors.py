"""Which browser origins may call this server. By default any origin may, because every request is signed and the
server uses no cookies."""

from __future__ import annotations

import msgspec

from keystead.server.http.messages import Header

_PREFLIGHT: list[Header] = [
    (b"access-control-allow-methods", b"POST"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Accept, X-Stamp, X-Stamp-WebAuthn, X-Stamp-Attested, X-Client-Version, X-Session, "
        b"X-Auth-Proxy-Config-ID",
    ),
    (b"access-control-max-age", b"86400"),
]


class CorsPolicy(msgspec.Struct, frozen=True):
    """`origins`: those that may call; None if any origin may."""

    origins: frozenset[bytes] | None

    @classmethod
    def any_origin(cls) -> CorsPolicy:
        return cls(None)

    @classmethod
    def of(cls, setting: str) -> CorsPolicy:
        """From the setting's text: "*", or origins separated by commas; empty for none."""
        if setting.strip() == "*":
            return cls(None)
        return cls(frozenset(origin.strip().encode() for origin in setting.split(",") if origin.strip()))

    def headers(self, origin: bytes) -> list[Header]:
        """The headers of an answer to a browser's request from `origin`."""
        if self.origins is None:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"X-Request-Id")]
        if origin in self.origins:
            return [
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", b"X-Request-Id"),
                (b"vary", b"Origin"),
            ]
        return [(b"vary", b"Origin")]

    def preflight(self, origin: bytes | None) -> list[Header]:
        """The headers to add to `headers` in the answer to a preflight from `origin`."""
        allowed = self.origins is None or origin in self.origins
        return list(_PREFLIGHT) if allowed and origin is not None else []
