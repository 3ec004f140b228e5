"""The file of `keystead dev --fixtures`: organizations and what belongs to them, as TOML or JSON.

Here: the form of the file. Members have the names and the rules of the API's parameters, unless a docstring below
says otherwise. Not here: making the records (`fixture_loading`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.developer_controls import ControlRequest
from keystead.api.enums import AddressFormat, Curve
from keystead.api.parameters import WalletAccountParams
from keystead.api.validation_text import in_json_words
from keystead.operations.policies.policies import CreatePolicyIntentV3
from keystead.operations.wallets.smart_contract_interfaces import CreateSmartContractInterfaceIntent
from keystead.server.bounds import FIXTURE_FILE_BYTES_MAX

PrivateKeyHex = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class FixtureError(Exception):
    """The file cannot be used; the message says where and why, in one line."""


class FixtureApiKey(ControlRequest, frozen=True):
    """A P-256 key of a user.

    Without `public_key` and `private_key`, both are derived from the names of the key, its user and its
    organizations. With `private_key`, the public key is computed from it. With `public_key` only, the server does
    not know the private key.
    """

    api_key_name: Label = "Key"
    public_key: str | None = None
    private_key: PrivateKeyHex | None = None

    def __repr__(self) -> str:
        return f"FixtureApiKey(api_key_name={self.api_key_name!r})"


class FixtureUser(ControlRequest, frozen=True):
    user_name: Label
    user_email: str | None = None
    user_phone_number: str | None = None
    api_keys: Annotated[tuple[FixtureApiKey, ...], Meta(min_length=1)] = (FixtureApiKey(),)


class FixtureTag(ControlRequest, frozen=True):
    """`users`: names of users."""

    user_tag_name: Label
    users: tuple[str, ...] = ()


class FixtureWallet(ControlRequest, frozen=True):
    """Without `mnemonic`, one is derived from the names of the wallet and its organizations."""

    wallet_name: Label
    mnemonic: str | None = None
    accounts: tuple[WalletAccountParams, ...] = ()

    def __repr__(self) -> str:
        return f"FixtureWallet(wallet_name={self.wallet_name!r})"


class FixturePrivateKey(ControlRequest, frozen=True):
    """`private_key`: the 32 bytes in hex. If absent, the key is derived from its name and those of its
    organizations."""

    private_key_name: Label
    curve: Curve
    address_formats: tuple[AddressFormat, ...] = ()
    private_key: PrivateKeyHex | None = None

    def __repr__(self) -> str:
        return f"FixturePrivateKey(private_key_name={self.private_key_name!r})"


class FixturePrivateKeyTag(ControlRequest, frozen=True):
    """`private_keys`: names of private keys."""

    private_key_tag_name: Label
    private_keys: tuple[str, ...] = ()


class FixtureOrganization(ControlRequest, frozen=True):
    """`root_users`: names of users; the first user if absent.

    The first user makes all other records, so at least one of this user's API keys needs a private key. Conditions
    and consensus expressions of policies may have {user:NAME}, {tag:NAME} and {privateKeyTag:NAME} in place of ids.
    A sub-organization cannot have sub-organizations.
    """

    organization_name: Label
    users: Annotated[tuple[FixtureUser, ...], Meta(min_length=1, max_length=1000)]
    root_users: tuple[str, ...] = ()
    threshold: Annotated[int, Meta(ge=1)] = 1
    user_tags: tuple[FixtureTag, ...] = ()
    wallets: tuple[FixtureWallet, ...] = ()
    private_keys: tuple[FixturePrivateKey, ...] = ()
    private_key_tags: tuple[FixturePrivateKeyTag, ...] = ()
    policies: tuple[CreatePolicyIntentV3, ...] = ()
    smart_contract_interfaces: tuple[CreateSmartContractInterfaceIntent, ...] = ()
    sub_organizations: tuple[FixtureOrganization, ...] = ()


class Fixtures(ControlRequest, frozen=True):
    organizations: tuple[FixtureOrganization, ...]


def read_fixtures(path: Path) -> Fixtures:
    """The fixtures in a file that ends in .toml or .json. Raises FixtureError."""
    try:
        content = path.read_bytes()
    except OSError as refused:
        raise FixtureError(f"{path}: {refused.strerror}") from None
    if len(content) > FIXTURE_FILE_BYTES_MAX:
        raise FixtureError(f"{path}: longer than {FIXTURE_FILE_BYTES_MAX} bytes")
    if path.suffix not in (".toml", ".json"):
        raise FixtureError(f"{path}: expected a name that ends in .toml or .json")
    try:
        if path.suffix == ".toml":
            return msgspec.toml.decode(content, type=Fixtures)
        return msgspec.json.decode(content, type=Fixtures)
    except msgspec.ValidationError as refused:
        what, _, where = str(refused).partition(" - at `$.")
        place = f" (at {where.rstrip('`')})" if where else ""
        raise FixtureError(f"{path}: {in_json_words(what)}{place}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as refused:
        raise FixtureError(f"{path}: {refused}") from None
