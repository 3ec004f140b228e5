"""/dev/v1/requests: the latest requests, each with its decoded stamp, its answer and the reason of a refusal.

Bodies and answers are kept up to a length and may hold secrets, because a development server has no real ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from keystead.api.developer_controls import REQUESTS, RequestsAnswer, RequestSeen, RequestsUpdate, StampSeen
from keystead.api.errors import ServiceError
from keystead.api.rendering import Form
from keystead.operations import CATALOGUE
from keystead.server.answers import form_of
from keystead.server.authentication import API_KEY_STAMP, ATTESTED_STAMP, STAMP_HEADERS, WEBAUTHN_STAMP
from keystead.server.bounds import REQUEST_SEEN_BYTES_MAX, REQUESTS_SEEN_MAX
from keystead.server.development.access import API
from keystead.server.development.control import ServedControl
from keystead.server.http.messages import Header, HttpAnswer, HttpRequest
from keystead.stamps.api_key import read_stamp
from keystead.stamps.attested import read_attested_stamp


class _RequestOrganization(msgspec.Struct):
    organization_id: str = msgspec.field(name="organizationId", default="")


class _ErrorBody(msgspec.Struct):
    message: str = ""


class _Kept(msgspec.Struct, frozen=True):
    """A request as it is kept. It is decoded when a developer asks for it. `body`, `answer`: at most TEXT_MAX
    bytes. `organization_id`: None if it is in `body`."""

    number: int
    at_ms: int
    ms: float
    request: HttpRequest
    body: bytes
    organization_id: str | None
    status: int
    answer_headers: Sequence[Header]
    answer: bytes
    fault: bool

    def seen(self, answer_form: str) -> RequestSeen:
        """`answer_form`: the setting for the form of answers."""
        request, status = self.request, self.status
        operation = CATALOGUE.at(request.path)
        organization_id = self.organization_id
        if organization_id is None:
            organization_id = _decoded(self.body, _RequestOrganization()).organization_id
        return RequestSeen(
            number=self.number,
            at_ms=self.at_ms,
            ms=self.ms,
            request_id=dict(self.answer_headers).get(b"x-request-id", b"").decode(),
            method=request.method,
            path=request.path[:200],
            operation="" if operation is None else operation.name,
            organization_id=organization_id,
            stamps=tuple([_decoded_stamp(name, value) for name, value in request.headers if name in STAMP_HEADERS]),
            body=_text(self.body),
            status=status,
            reason=_decoded(self.answer, _ErrorBody()).message if status >= 400 else "",
            answer=_text(self.answer),
            fault=self.fault,
            form=_form(request, answer_form) if status == 200 else "",
        )


class RequestsSeen:
    def __init__(self, answer_form: str) -> None:
        """`answer_form`: the setting for the form of answers."""
        self._answer_form = answer_form
        self._answered: deque[_Kept] = deque(maxlen=REQUESTS_SEEN_MAX)
        self._refused: deque[_Kept] = deque(maxlen=REQUESTS_SEEN_MAX)
        self._count = 0

    def clear(self) -> None:
        self._answered.clear()
        self._refused.clear()

    def add(
        self,
        request: HttpRequest,
        answer: HttpAnswer | None,
        at_ms: int,
        ms: float,
        *,
        fault: bool,
    ) -> None:
        """Record a request. `answer` is None if the connection was cut."""
        self._count += 1
        status = 0 if answer is None else answer.status
        organization_id = None
        if len(request.body) > REQUEST_SEEN_BYTES_MAX:
            organization_id = _decoded(request.body, _RequestOrganization()).organization_id
        kept = _Kept(
            number=self._count,
            at_ms=at_ms,
            ms=ms,
            request=HttpRequest(method=request.method, path=request.path, headers=request.headers),
            body=request.body[:REQUEST_SEEN_BYTES_MAX],
            organization_id=organization_id,
            status=status,
            answer_headers=() if answer is None else answer.headers,
            answer=b"" if answer is None else answer.body[:REQUEST_SEEN_BYTES_MAX],
            fault=fault,
        )
        (self._answered if 0 < status < 400 else self._refused).append(kept)

    def state(self) -> RequestsAnswer:
        kept = sorted((*self._answered, *self._refused), key=attrgetter("number"))
        return RequestsAnswer(requests=tuple([one.seen(self._answer_form) for one in kept]))

    async def change(self, change: RequestsUpdate) -> RequestsAnswer:
        if change.clear:
            self.clear()
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=REQUESTS, read=self.state, change=self.change)


def _form(request: HttpRequest, setting: str) -> str:
    """The form of the answer. The authentication proxy has only the SDK form."""
    return (form_of(request, setting) if request.path.startswith(API) else Form.SDK).value


def _decoded_stamp(name: bytes, value: bytes) -> StampSeen:
    header = name.decode()
    try:
        if name == API_KEY_STAMP:
            stamp = read_stamp(value)
            return StampSeen(
                header=header, scheme=stamp.scheme, public_key=stamp.public_key, signature=stamp.signature
            )
        if name == WEBAUTHN_STAMP:
            from keystead.stamps.webauthn import SCHEME, read_assertion  # slow to import

            assertion = read_assertion(value)
            return StampSeen(
                header=header,
                scheme=SCHEME,
                credential_id=assertion.credential_id,
                signature=assertion.signature.hex(),
                client_data=_text(assertion.client_data_json),
            )
        if name == ATTESTED_STAMP:
            attested = read_attested_stamp(value)
            return StampSeen(
                header=header,
                scheme=attested.scheme,
                public_key=attested.public_key,
                signature=attested.signature,
            )
    except ServiceError as refused:
        return StampSeen(header=header, problem=refused.message)
    return StampSeen(header=header)  # a read-only session: its text is a secret, and has no parts to show


def _decoded(body: bytes, default: Any) -> Any:
    """The JSON object as a value of the type of `default`; `default` if the body is not such an object."""
    try:
        return msgspec.json.decode(body, type=type(default))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return default


def _text(content: bytes) -> str:
    return content[:REQUEST_SEEN_BYTES_MAX].decode(errors="replace")
