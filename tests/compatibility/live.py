"""The server under test as the published clients see it: an address, an organization, and a root user's key."""

from __future__ import annotations

from typing import Protocol


class Live(Protocol):
    """What the `live` fixture of tests/conftest.py gives."""

    @property
    def base_url(self) -> str: ...
    @property
    def organization_id(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def api_public_key(self) -> str: ...
    @property
    def api_private_key(self) -> str: ...
