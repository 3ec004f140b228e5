"""The part that both clients share: settings, and building requests.

Not here: sending, waiting, repeating (`client`), the typed methods (`operations`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from keystead.api.enums import ApiKeyCurve
from keystead.client.credentials import Credentials, credentials_in, environment_credentials
from keystead.client.errors import UsageError
from keystead.client.operations import ACTIVITY_TYPES
from keystead.client.requests import Prepared, ServerAddress, short_path, stamp_request, whole_body, without_none
from keystead.client.retries import Retries
from keystead.stamps.signing import ApiKeyStamper, Stamper

HttpClientT = TypeVar("HttpClientT")


class Options(TypedDict, Generic[HttpClientT], total=False):
    """The options of every client.

    timeout: seconds for the connection, and for each wait for bytes; 30 if not given. retries: see `Retries`.
    ca_file: a PEM file of the private authority that signs the server's certificate. http_client: the httpx client
    that sends, for a proxy or a test; this client does not close it.
    """

    timeout: float
    retries: Retries
    ca_file: str | None
    http_client: HttpClientT


class BaseClient(Generic[HttpClientT]):
    """The part of a client that does no I/O."""

    @overload
    def __init__(
        self,
        base_url: str,
        api_public_key: str,
        api_private_key: str,
        organization_id: str,
        *,
        curve: ApiKeyCurve = ...,
        **options: Unpack[Options[HttpClientT]],
    ) -> None: ...

    @overload
    def __init__(
        self,
        base_url: str,
        *,
        organization_id: str,
        stamper: Stamper,
        **options: Unpack[Options[HttpClientT]],
    ) -> None: ...

    def __init__(
        self,
        base_url: str,
        api_public_key: str | None = None,
        api_private_key: str | None = None,
        organization_id: str | None = None,
        *,
        curve: ApiKeyCurve = ApiKeyCurve.P256,
        stamper: Stamper | None = None,
        **options: Unpack[Options[HttpClientT]],
    ) -> None:
        """A client of the server at `base_url`, with an API key, for one organization.

        base_url: for example https://keys.example.com. api_public_key, api_private_key: both halves as hex, the
        public one compressed. organization_id: the organization of a call that names none. curve: the curve of the
        key. stamper: signs in place of the two key halves, for keys that are stored elsewhere (see
        `CallbackStamper`). options: see `Options`. Raises UsageError for invalid arguments.
        """
        self._address = ServerAddress(base_url, organization_id or "")
        self._stamper = _stamper(api_public_key, api_private_key, curve, stamper)
        self._timeout_s = options.get("timeout", 30.0)
        self._retries = options.get("retries", Retries())
        self._ca_file = options.get("ca_file")
        http_client = options.get("http_client")
        self._closes_http_client = http_client is None
        self._http_client = self._new_http_client() if http_client is None else http_client

    @classmethod
    def from_env(cls, *, curve: ApiKeyCurve = ApiKeyCurve.P256, **options: Unpack[Options[HttpClientT]]) -> Self:
        """A client with the settings of the environment.

        Reads KEYSTEAD_BASE_URL, KEYSTEAD_API_PUBLIC_KEY, KEYSTEAD_API_PRIVATE_KEY and KEYSTEAD_ORGANIZATION_ID,
        and KEYSTEAD_CA_FILE if it is set. Raises UsageError if one of the others is not set.
        """
        return cls._from(environment_credentials(), curve, options)

    @classmethod
    def from_credentials(
        cls,
        path: str | os.PathLike[str],
        *,
        curve: ApiKeyCurve = ApiKeyCurve.P256,
        **options: Unpack[Options[HttpClientT]],
    ) -> Self:
        """A client with the settings of a JSON file: baseUrl, organizationId, apiPublicKey, apiPrivateKey.

        Raises UsageError, which names the file, if it cannot be read or used.
        """
        credentials = credentials_in(path)
        try:
            return cls._from(credentials, curve, options)
        except UsageError as refused:
            raise UsageError(f"credentials file {os.fspath(path)}: {refused}") from None

    @classmethod
    def _from(cls, credentials: Credentials, curve: ApiKeyCurve, options: Options[HttpClientT]) -> Self:
        options.setdefault("ca_file", credentials.ca_file)
        return cls(
            credentials.base_url,
            credentials.api_public_key,
            credentials.api_private_key,
            credentials.organization_id,
            curve=curve,
            **options,
        )

    @property
    def base_url(self) -> str:
        return self._address.base_url

    @property
    def organization_id(self) -> str:
        """The organization of a call that names none."""
        return self._address.organization_id

    def prepare(self, path: str, body: Mapping[str, Any]) -> Prepared:
        """Build and stamp a request without sending it.

        path: "query/…" or "submit/…". body: its members in camelCase. If they are missing, `organizationId` is the
        client's, and `type` and `timestampMs` of a submission are the current version and the time. Raises
        UsageError for a malformed path, and for a submission of unknown type.
        """
        short = short_path(path)
        whole = whole_body(short, body, self._address.organization_id, ACTIVITY_TYPES)
        return stamp_request(self._address, short, whole, self._stamper)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(base_url={self.base_url!r}, organization_id={self.organization_id!r}, "
            f"api_public_key={getattr(self._stamper, 'public_key', None)!r})"
        )

    def _new_http_client(self) -> HttpClientT:
        raise NotImplementedError


def submission(
    parameters: Mapping[str, Any],
    activity_type: str | None,
    organization_id: str | None,
    generate_app_proofs: bool,
) -> dict[str, Any]:
    """The body of a submission, without the members that `prepare` adds."""
    return {
        "type": activity_type,
        "organizationId": organization_id,
        "parameters": without_none(parameters),
        "generateAppProofs": generate_app_proofs or None,
    }


def _stamper(
    public_key: str | None, private_key: str | None, curve: ApiKeyCurve, stamper: Stamper | None
) -> Stamper:
    if stamper is not None:
        if public_key is not None or private_key is not None:
            raise UsageError("pass an API key or a stamper, not both")
        return stamper
    if not public_key or not private_key:
        raise UsageError("pass both halves of an API key, or a stamper")
    try:
        return ApiKeyStamper(public_key, private_key, curve)
    except ValueError as refused:
        # A chained exception would give error reporters access to the frames, which hold the private half.
        raise UsageError(str(refused)) from None
