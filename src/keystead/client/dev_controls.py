"""`DevControls`: what a developer may do to a development server (`keystead dev`): its clock, faults, resets.

They are at /dev/v1 of the server, for programs on its machine. Here: the requests, and what a client adds to the
declared methods. Not here: the methods (`dev_methods`, made from `api.developer_controls`), calls of the API itself
(`client`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar

import httpx
import msgspec

from keystead.api.developer_controls import ORGANIZATIONS, Control, ControlRequest, NewOrganizationRequest
from keystead.client.answers import refusal
from keystead.client.certificates import certificates_for
from keystead.client.credentials import Credentials
from keystead.client.dev_methods import DevClock, DevFaults, DevMethods
from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.client.dev_webhooks import DevWebhooks
from keystead.client.errors import ConnectionFailed

T = TypeVar("T")

_TIMEOUT_S = 10.0
_HEADERS = {"content-type": "application/json", "x-keystead-dev": "1"}


class DevControls(DevMethods):
    """The developer's controls of a server. `base_url`: for example http://localhost:8080. `ca_file`: the authority
    of a server with `--tls` (`caFile` of its credentials).

    Every method raises ApiError, with the reason, if the server refuses, and ConnectionFailed if it does not
    answer. Several threads may use it. Close it, or use it as a context manager.
    """

    def __init__(self, base_url: str, *, ca_file: str | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self._ca_file = ca_file
        # A proxy of the environment cannot reach this machine.
        self._http = httpx.Client(
            base_url=self.base_url,
            timeout=_TIMEOUT_S,
            trust_env=False,
            verify=certificates_for(self.base_url, is_direct=True, ca_file=ca_file),
        )
        self.clock = DevClock(self)
        self.faults = DevFaults(self)
        self.outbox = DevelopmentOutbox(self.base_url, self._http)
        self.webhooks = DevWebhooks(self.base_url, self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def new_organization(self, name: str = "Test", *, wallet: bool = False) -> Credentials:
        """Make a new organization, with a root user and an API key.

        wallet: also make an authentication proxy, and the wallet "Development", which has the public test mnemonic
        of local chains.
        """
        made = self.change(ORGANIZATIONS, NewOrganizationRequest(name=name, wallet=wallet))
        return Credentials(
            base_url=self.base_url,
            organization_id=made.organization_id,
            user_id=made.user_id,
            api_public_key=made.api_public_key,
            api_private_key=made.api_private_key,
            ca_file=self._ca_file,
        )

    def read(self, control: Control[T]) -> T:
        """The answer to GET."""
        return msgspec.json.decode(self._answer("GET", control), type=control.answer)

    def change(self, control: Control[T], change: ControlRequest | Mapping[str, object]) -> T:
        """The answer to POST with this change, also of one that the declaration does not allow."""
        return msgspec.json.decode(self._answer("POST", control, msgspec.json.encode(change)), type=control.answer)

    def _answer(self, method: str, control: Control[T], body: bytes = b"") -> bytes:
        try:
            answer = self._http.request(method, control.path, content=body, headers=_HEADERS)
        except httpx.TransportError as failed:
            raise ConnectionFailed(f"{self.base_url}: {failed}: is keystead dev running?") from failed
        error = refusal(control.path, answer.status_code, answer.headers, answer.content)
        if error is not None:
            raise error
        return answer.content
