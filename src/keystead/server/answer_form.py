"""Which form of an answer a caller reads, by the headers of its request."""

from __future__ import annotations

from typing import Final

from keystead.api.rendering import Form
from keystead.server.http.messages import HttpRequest

_SDK_HEADERS: Final = frozenset({b"x-client-version", b"x-tvc-client-version"})
_SDK_AGENTS: Final = (b"turnkey-", b"Go-http-client/")


def form_of(request: HttpRequest, setting: str) -> Form:
    """The form of the answer to a request. `setting`: the form of every answer; `auto` recognizes published clients
    by the headers that they send."""
    if setting != "auto":
        return Form(setting)
    headers = dict(request.headers)
    is_sdk = not _SDK_HEADERS.isdisjoint(headers) or headers.get(b"user-agent", b"").startswith(_SDK_AGENTS)
    return Form.SDK if is_sdk else Form.DOCUMENTED
