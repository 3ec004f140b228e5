"""One request to an authentication proxy: the interface for its endpoint, and the check of allowed logins.

Here: the protocol, and the checks of several endpoints. Not here: its implementation (`server.auth_proxy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from keystead.api.enums import AuthMethod
from keystead.api.errors import PermissionDenied
from keystead.api.records import AppProof
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.organization import Organization
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Store


class CompletedSubmission(msgspec.Struct, frozen=True):
    """A completed submission: the members of its result, its app proofs."""

    result: Mapping[str, Any]
    app_proofs: tuple[AppProof, ...]


class ProxyCall(Protocol):
    """One request to a proxy: its configuration, and what its endpoint may use."""

    @property
    def settings(self) -> AuthProxySettings: ...

    @property
    def organization(self) -> Organization: ...

    @property
    def store(self) -> Store: ...

    @property
    def identities(self) -> Identities: ...

    @property
    def now_ms(self) -> int: ...

    async def verification_public_key(self) -> bytes:
        """The key that verifies this server's verification tokens, as a SEC 1 point."""
        ...

    async def submit(
        self,
        activity_type: str,
        parameters: Mapping[str, Any],
        *,
        organization_id: str | None = None,
        app_proofs: bool = False,
    ) -> CompletedSubmission:
        """Submit as the proxy's user, in the parent organization unless another one is named.

        Raises the error that refuses the submission, and PermissionDenied if it waits for approvals.
        """
        ...


def check_allowed(settings: AuthProxySettings, method: AuthMethod) -> None:
    """Raise PermissionDenied if the configuration does not allow logins by this method."""
    if method not in settings.allowed_auth_methods:
        allowed = ", ".join(settings.allowed_auth_methods) or "none"
        raise PermissionDenied(f"{method.upper()} disallowed: this application allows logins by: {allowed}")


def check_oauth_allowed(settings: AuthProxySettings) -> None:
    """Raise PermissionDenied if OAuth is not allowed. Published clients match the first two words of the
    message."""
    check_allowed(settings, AuthMethod.OAUTH)


def without_absent(**members: Any) -> dict[str, Any]:
    """The members that are not None, because an intent has no field of the value null."""
    return {name: value for name, value in members.items() if value is not None}
