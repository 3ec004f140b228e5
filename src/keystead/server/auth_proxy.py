"""The authentication proxy over HTTP: it stamps the requests of browsers that have no key.

Here: the configuration that a request names, the check of its origin, the stamp. Not here: the endpoints
(`operations.auth_proxy.endpoints`), the stamped submission (`api_endpoints`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.errors import Internal, InvalidRequest, MethodNotAllowed, NotFound, PermissionDenied
from keystead.api.identifiers import UUID_PATTERN
from keystead.operations import CATALOGUE
from keystead.operations.auth_proxy.calls import CompletedSubmission
from keystead.operations.auth_proxy.endpoints import ENDPOINTS
from keystead.operations.logins.google_linking import link_google
from keystead.organizations.credentials.google_accounts import linked_email
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.auth_proxies import ANY_ORIGIN, AuthProxy
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.operation import ActivityOperation
from keystead.primitives.share import Work
from keystead.server.authentication import API_KEY_STAMP
from keystead.server.http.messages import HttpRequest
from keystead.server.limits.rate_limits import RateLimit
from keystead.server.limits.rate_table import RateTable
from keystead.server.logs import RequestLine
from keystead.server.service import Service
from keystead.stamps.api_key import Stamp
from keystead.stamps.attested import AttestedStamp
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.schemes import StampScheme

PREFIX: Final = "/auth-proxy/v1/"
CONFIG_HEADER: Final = b"x-auth-proxy-config-id"

_UUID = re.compile(UUID_PATTERN)

Submit = Callable[[ActivityOperation, tuple[bytes, bytes], bytes, RequestLine], Awaitable[RecordedActivity]]
"""Carries out a stamped submission: its operation, its stamp header, its body, its log line."""


class AuthProxyEndpoints:
    """Answers the paths below PREFIX. `submit` carries out the stamped submissions."""

    def __init__(self, service: Service, submit: Submit, rates: RateTable) -> None:
        self._service = service
        self._submit = submit
        self._rate_limit = RateLimit("auth_proxy", service.settings.auth_proxy_rate_limit, rates)
        self._verification_public_key = b""

    async def answer(self, path: str, request: HttpRequest, line: RequestLine) -> Any:
        """The answer of an endpoint. Raises ServiceError."""
        endpoint = ENDPOINTS.get(path.removeprefix(PREFIX))
        if endpoint is None:
            raise NotFound(f"no such path: {path[:200]}")
        if request.method != "POST":
            raise MethodNotAllowed(f"{request.method} {path}: this path accepts POST only")
        if request.client.limit_key:
            self._rate_limit.spend(request.client.limit_key, time.monotonic())
        headers = dict(request.headers)
        organization, proxy = await self._configuration(headers.get(CONFIG_HEADER, b""))
        line.organization_id, line.user_id = organization.id, proxy.user_id
        _check_origin(proxy, headers.get(b"origin"))
        body = b"{}" if endpoint.is_empty_allowed and not request.body.strip() else request.body
        decoded = await self._service.share.run(
            request.client.limit_key, Work.BODY, partial(endpoint.decoder.decode_request, body), len(body)
        )
        return await endpoint.answer(_EndpointCall(self, self._service, organization, proxy, line), decoded)

    async def _configuration(self, header: bytes) -> tuple[Organization, AuthProxy]:
        """The proxy that the header names, and its organization. Raises InvalidRequest, NotFound."""
        if not header:
            raise InvalidRequest("missing header X-Auth-Proxy-Config-ID: the id of an authentication proxy")
        config_id = header.decode("ascii", "replace")
        store = self._service.store
        if _UUID.match(config_id):
            # Organizations with a proxy have no parent; their look-ups have "" as the parent's id.
            for organization_id in await store.suborganizations.with_value("", LookupKind.AUTH_PROXY, config_id):
                organization = await store.organization(organization_id)
                proxy = organization.auth_proxies.get(config_id) if organization is not None else None
                if organization is not None and proxy is not None:
                    return organization, proxy
        raise NotFound("header X-Auth-Proxy-Config-ID: no authentication proxy has this id")

    async def stamped(
        self,
        organization: Organization,
        proxy: AuthProxy,
        operation: ActivityOperation,
        body: bytes,
        line: RequestLine,
    ) -> RecordedActivity:
        """Submit the body, stamped with the proxy's key."""
        signature = await self._service.signer.sign_auth_proxy_request(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            proxy_id=proxy.user_id,
            sealed_key=proxy.sealed_key,
            body=body,
        )
        stamp = Stamp(public_key=proxy.public_key, scheme=StampScheme.API_P256, signature=signature.hex())
        header = encode_base64url(msgspec.json.encode(stamp)).encode()
        return await self._submit(operation, (API_KEY_STAMP, header), body, line)

    async def link_google(
        self, identity: ProvenIdentity, stamp: AttestedStamp, organization_id: str, line: RequestLine
    ) -> None:
        """Attach the identity of an ID token to the user with its verified address, if the configuration of a proxy
        allows it. `stamp`: of the login, with the ID token. `organization_id`: the organization that the login
        names. Raises ServiceError."""
        store = self._service.store
        organization = await store.organization(organization_id)
        if organization is not None and organization.profile.parent_id is not None:
            organization = await store.organization(organization.profile.parent_id)
        if organization is None:
            return
        for proxy in organization.auth_proxies.values():
            if linked_email(identity, proxy.settings) is not None:
                call = _EndpointCall(self, self._service, organization, proxy, line)
                await link_google(call, identity, stamp.public_key_attestation, stamp.public_key)
                return

    async def verification_public_key(self) -> bytes:
        """The key that verifies this server's verification tokens, as a SEC 1 point."""
        if not self._verification_public_key:
            for key in await self._service.signer.installation_keys():
                if key.name == "verification_key":
                    self._verification_public_key = bytes.fromhex(key.public_key)
        return self._verification_public_key


class _EndpointCall:
    """Implements `auth_proxy_calls.ProxyCall`."""

    def __init__(
        self,
        endpoints: AuthProxyEndpoints,
        service: Service,
        organization: Organization,
        proxy: AuthProxy,
        line: RequestLine,
    ) -> None:
        self.organization = organization
        self.settings = proxy.settings
        self.store = service.store
        self.identities = service.identities
        self.now_ms = service.clock.now_ms()
        self._endpoints = endpoints
        self._proxy = proxy
        self._line = line

    async def verification_public_key(self) -> bytes:
        return await self._endpoints.verification_public_key()

    async def submit(
        self,
        activity_type: str,
        parameters: Mapping[str, Any],
        *,
        organization_id: str | None = None,
        app_proofs: bool = False,
    ) -> CompletedSubmission:
        operation = CATALOGUE.of_type(activity_type)
        assert isinstance(operation, ActivityOperation), activity_type
        body = msgspec.json.encode(
            {
                "type": activity_type,
                "timestampMs": str(self.now_ms),
                "organizationId": organization_id or self.organization.id,
                "parameters": parameters,
                "generateAppProofs": app_proofs,
            }
        )
        activity = await self._endpoints.stamped(self.organization, self._proxy, operation, body, self._line)
        if activity.status is not ActivityStatus.COMPLETED:
            if activity.failure is not None:
                raise InvalidRequest(activity.failure.message)
            raise PermissionDenied(
                f"activity {activity.id} waits for approvals; the policy of this authentication proxy must allow "
                "it without further approvals"
            )
        result = next(iter(activity.result.values()), None)
        if result is None:
            raise Internal(f"activity {activity.id} has no result")
        return CompletedSubmission(msgspec.json.decode(result), activity.app_proofs)


def _check_origin(proxy: AuthProxy, origin: bytes | None) -> None:
    """Raise PermissionDenied if the configuration does not name the origin of the page that sent the request.
    Browsers send the header with every cross-origin request; other clients do not send it."""
    allowed = proxy.settings.allowed_origins
    if origin is not None and ANY_ORIGIN not in allowed and origin.decode("ascii", "replace") not in allowed:
        raise PermissionDenied(
            f"origin {origin.decode('ascii', 'replace')[:200]!r} may not call this authentication proxy; an "
            "operator allows it with keystead auth-proxy update --origin"
        )
