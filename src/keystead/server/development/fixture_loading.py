"""Making the organizations of a fixture file, with the same identifiers and keys on every machine.

An organization, its first user and its wallets with a mnemonic in the file are written directly. That user submits
the rest as a client would: the rules of the API apply, and the activities are recorded. The identifiers and keys of
a record are derived from its name and the names of its organizations, so a new record in the file changes no other.
Not here: the form of the file (`fixture_file`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.enums import ApiKeyCurve
from keystead.api.errors import ServiceError
from keystead.api.records import Timestamp
from keystead.api.rendering import encode
from keystead.operations import CATALOGUE
from keystead.operations.policies.policies import CreatePolicyIntentV3
from keystead.organizations.ip_allowlists import EXEMPT
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.signer_values import AccountRequest
from keystead.pipeline.submission import read_submission
from keystead.server.authentication import verify_api_key_stamp
from keystead.server.callers import submitter
from keystead.server.development import fixture_file
from keystead.server.development.seeding import KeySource, seeded_source
from keystead.server.installation.new_organization import OrganizationParams, WalletOfMnemonic, new_organization
from keystead.server.service import Service
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import ApiKeyStamper, api_key_of, generate_api_key

_REFERENCE = re.compile(r"\{(user|tag|privateKeyTag):([^{}]*)\}")


class LoadedKey(msgspec.Struct, frozen=True):
    """An API key of a fixture. `private_key`: "" if the file has only the public key. It is not in the repr."""

    organization_name: str
    organization_id: str
    user_name: str
    user_id: str
    public_key: str
    private_key: str

    def __repr__(self) -> str:
        return f"LoadedKey(organization_id={self.organization_id!r}, public_key={self.public_key!r})"


class FixtureLoader:
    """`take_from` sets the source from which the server takes identifiers and keys."""

    def __init__(self, service: Service, take_from: Callable[[KeySource], None]) -> None:
        assert isinstance(service.signer, LocalSigner)
        self._service = service
        self._signer = service.signer
        self._take_from = take_from

    async def load(self, fixtures: fixture_file.Fixtures) -> list[LoadedKey]:
        """Make the organizations that do not exist yet. Returns the keys of all users. Raises FixtureError."""
        keys: list[LoadedKey] = []
        for fixture in fixtures.organizations:
            keys += await self._load_organization(fixture, (), None)
        return keys

    async def _load_organization(
        self, fixture: fixture_file.FixtureOrganization, above: tuple[str, ...], parent_id: str | None
    ) -> list[LoadedKey]:
        path = (*above, fixture.organization_name)
        if fixture.sub_organizations and parent_id is not None:
            raise fixture_file.FixtureError(f"{' / '.join(path)}: a sub-organization cannot have sub-organizations")
        source = _source(*path)
        organization_id = source.new_id()
        keys = [_keys(organization_id, path, user.user_name, user.api_keys) for user in fixture.users]
        root = next((key for key in keys[0] if key.private_key), None)
        if root is None:
            raise fixture_file.FixtureError(
                f"{' / '.join(path)}: the first user needs an API key with a private key"
            )
        if await self._service.store.organization(organization_id) is None:
            await self._create(fixture, path, parent_id, root, keys)
        organization = await self._service.store.organization(organization_id)
        assert organization is not None
        ids = {user.user_name: user.user_id for user in organization.users.values()}
        loaded = [replace(key, user_id=ids.get(key.user_name, "")) for of_user in keys for key in of_user]
        for child in fixture.sub_organizations:
            loaded += await self._load_organization(child, path, organization_id)
        return loaded

    async def _create(
        self,
        fixture: fixture_file.FixtureOrganization,
        path: tuple[str, ...],
        parent_id: str | None,
        root: LoadedKey,
        keys: Sequence[Sequence[LoadedKey]],
    ) -> None:
        source = _source(*path, "root user")
        self._take_from(source)
        first = fixture.users[0]
        params = OrganizationParams(
            organization_id=root.organization_id,
            organization_name=fixture.organization_name,
            user_id=root.user_id,
            user_name=first.user_name,
            user_email=first.user_email,
            user_phone_number=first.user_phone_number,
            api_key_name=first.api_keys[keys[0].index(root)].api_key_name,
            api_public_key=root.public_key,
            parent_id=parent_id,
        )
        now = Timestamp.from_ms(self._service.clock.now_ms())
        try:
            made = await new_organization(
                self._signer,
                params,
                now,
                source.new_id,
                wallets=[_wallet(wallet) for wallet in fixture.wallets if wallet.mnemonic],
            )
        except ServiceError as refused:
            raise fixture_file.FixtureError(f"{' / '.join(path)}: {refused.message}") from None
        await self._service.store.add_organization(made.organization, made.attachments, made.lookups)
        rest = _RemainingRecords(_Submitter(self._service, self._take_from, root, path), root, path)
        await rest.make(fixture, keys)


class _RemainingRecords:
    """The records that the root user of an organization submits."""

    def __init__(self, submitter: _Submitter, root: LoadedKey, path: tuple[str, ...]) -> None:
        self._submit = submitter.submit
        self._root = root
        self._path = path
        self._ids = {("user", root.user_name): root.user_id}
        """The ids of users, tags and private keys, by kind and name."""

    async def make(self, fixture: fixture_file.FixtureOrganization, keys: Sequence[Sequence[LoadedKey]]) -> None:
        """Submit all records except the organization and its root user. Raises FixtureError."""
        await self._root_user(fixture.users[0], keys[0])
        for user, of_user in zip(fixture.users[1:], keys[1:], strict=True):
            await self._user(user, of_user)
        for tag in fixture.user_tags:
            await self._tag(tag)
        for wallet in fixture.wallets:
            if wallet.mnemonic is None:
                parameters = {"walletName": wallet.wallet_name, "accounts": json.loads(encode(wallet.accounts))}
                await self._submit("create_wallet", ("wallet", wallet.wallet_name), parameters)
        for private_key in fixture.private_keys:
            await self._private_key(private_key)
        for key_tag in fixture.private_key_tags:
            await self._private_key_tag(key_tag)
        for interface in fixture.smart_contract_interfaces:
            where = ("interface", interface.label, interface.smart_contract_address)
            await self._submit("create_smart_contract_interface", where, json.loads(encode(interface)))
        for policy in fixture.policies:
            await self._policy(policy)
        await self._root_quorum(fixture)

    async def _root_user(self, user: fixture_file.FixtureUser, keys: Sequence[LoadedKey]) -> None:
        """Add the root user's other keys."""
        others = [
            _api_key(fixture, key)
            for fixture, key in zip(user.api_keys, keys, strict=True)
            if key is not self._root
        ]
        if others:
            parameters: dict[str, Any] = {"userId": self._root.user_id, "apiKeys": others}
            await self._submit("create_api_keys", ("user", user.user_name, "keys"), parameters)

    async def _user(self, user: fixture_file.FixtureUser, keys: Sequence[LoadedKey]) -> None:
        parameters: dict[str, Any] = {
            "userName": user.user_name,
            "apiKeys": [_api_key(fixture, key) for fixture, key in zip(user.api_keys, keys, strict=True)],
            "authenticators": [],
            "oauthProviders": [],
            "userTags": [],
        }
        if user.user_email is not None:
            parameters["userEmail"] = user.user_email
        if user.user_phone_number is not None:
            parameters["userPhoneNumber"] = user.user_phone_number
        result = await self._submit("create_users", ("user", user.user_name), {"users": [parameters]})
        self._ids["user", user.user_name] = result["userIds"][0]

    async def _tag(self, tag: fixture_file.FixtureTag) -> None:
        members = [self._id_of("user", name) for name in tag.users]
        parameters = {"userTagName": tag.user_tag_name, "userIds": members}
        result = await self._submit("create_user_tag", ("tag", tag.user_tag_name), parameters)
        self._ids["tag", tag.user_tag_name] = result["userTagId"]

    async def _private_key(self, key: fixture_file.FixturePrivateKey) -> None:
        parameters = {
            "privateKeyName": key.private_key_name,
            "curve": key.curve,
            "addressFormats": key.address_formats,
            "privateKeyTags": [],
        }
        secret = bytes.fromhex(key.private_key) if key.private_key else b""
        where = ("private key", key.private_key_name)
        result = await self._submit(
            "create_private_keys", where, {"privateKeys": [parameters]}, next_entropy=secret
        )
        self._ids["private key", key.private_key_name] = result["privateKeys"][0]["privateKeyId"]

    async def _private_key_tag(self, tag: fixture_file.FixturePrivateKeyTag) -> None:
        members = [self._id_of("private key", name) for name in tag.private_keys]
        parameters = {"privateKeyTagName": tag.private_key_tag_name, "privateKeyIds": members}
        result = await self._submit(
            "create_private_key_tag", ("private key tag", tag.private_key_tag_name), parameters
        )
        self._ids["privateKeyTag", tag.private_key_tag_name] = result["privateKeyTagId"]

    async def _policy(self, policy: CreatePolicyIntentV3) -> None:
        parameters = json.loads(encode(policy))
        for member in {"condition", "consensus"} & parameters.keys():
            parameters[member] = _REFERENCE.sub(lambda match: self._id_of(match[1], match[2]), parameters[member])
        await self._submit("create_policy", ("policy", policy.policy_name), parameters)

    async def _root_quorum(self, fixture: fixture_file.FixtureOrganization) -> None:
        quorum = [self._id_of("user", name) for name in fixture.root_users or (self._root.user_name,)]
        if quorum != [self._root.user_id] or fixture.threshold != 1:
            parameters = {"threshold": fixture.threshold, "userIds": quorum}
            await self._submit("update_root_quorum", ("root quorum",), parameters)

    def _id_of(self, kind: str, name: str) -> str:
        id_ = self._ids.get((kind, name))
        if id_ is None:
            raise fixture_file.FixtureError(f"{' / '.join(self._path)}: there is no {kind} {name!r}")
        return id_


class _Submitter:
    """Submits as the root user of one organization."""

    def __init__(
        self, service: Service, take_from: Callable[[KeySource], None], root: LoadedKey, path: tuple[str, ...]
    ) -> None:
        self._service = service
        self._take_from = take_from
        self._root = root
        self._path = path

    async def submit(
        self, name: str, where: tuple[str, ...], parameters: Mapping[str, Any], *, next_entropy: bytes = b""
    ) -> dict[str, Any]:
        """The result of a submission. `next_entropy`: the random bytes of its first secret.

        Raises FixtureError.
        """
        service, root = self._service, self._root
        operation = CATALOGUE.at(f"/public/v1/submit/{name}")
        assert isinstance(operation, ActivityOperation)
        self._take_from(_source(*self._path, *where, next_entropy=next_entropy))
        now_ms = service.clock.now_ms()
        body = json.dumps(
            {
                "type": operation.activity_types[0],
                "timestampMs": str(now_ms),
                "organizationId": root.organization_id,
                "parameters": parameters,
            }
        ).encode()
        _, stamp = ApiKeyStamper(root.public_key, root.private_key).stamp(body)
        try:
            proven = verify_api_key_stamp(stamp.encode(), body, operation)
            submission = await submitter(service.store, read_submission(operation, body), proven, now_ms, EXEMPT)
            activity = await service.lifecycle.submit(submission)
        except ServiceError as refused:
            raise fixture_file.FixtureError(f"{' / '.join((*self._path, *where))}: {refused.message}") from None
        (result,) = activity.result.values()
        made: dict[str, Any] = json.loads(bytes(result))
        return made


def _source(*path: str, next_entropy: bytes = b"") -> KeySource:
    """The source of a record's identifiers and keys. `next_entropy`: the first random bytes, if present."""
    source = seeded_source("keystead fixture " + json.dumps(path))
    if not next_entropy:
        return source
    unused = [next_entropy]

    def entropy(size: int) -> bytes:
        return unused.pop() if unused and size == len(next_entropy) else source.entropy(size)

    return KeySource(entropy, source.new_id, source.api_key, None)


def _keys(
    organization_id: str, path: tuple[str, ...], user_name: str, api_keys: Sequence[fixture_file.FixtureApiKey]
) -> list[LoadedKey]:
    user_id = _source(*path, "user", user_name).new_id()
    loaded = []
    for fixture in api_keys:
        if fixture.private_key is not None:
            pair = api_key_of(fixture.private_key)
            halves = pair.public_key, pair.private_key
        elif fixture.public_key is not None:
            halves = fixture.public_key, ""
        else:
            seed = json.dumps(["keystead fixture key", *path, user_name, fixture.api_key_name])
            pair = generate_api_key(seed=seed.encode())
            halves = pair.public_key, pair.private_key
        loaded.append(LoadedKey(path[-1], organization_id, user_name, user_id, *halves))
    return loaded


def _api_key(fixture: fixture_file.FixtureApiKey, key: LoadedKey) -> dict[str, str]:
    return {"apiKeyName": fixture.api_key_name, "publicKey": key.public_key, "curveType": ApiKeyCurve.P256}


def _wallet(fixture: fixture_file.FixtureWallet) -> WalletOfMnemonic:
    requests = [
        AccountRequest(
            curve=account.curve,
            path_format=account.path_format,
            path=account.path,
            address_format=account.address_format,
        )
        for account in fixture.accounts
    ]
    return WalletOfMnemonic(
        name=fixture.wallet_name,
        mnemonic=fixture.mnemonic or "",
        accounts=tuple(requests),
        account_names=tuple(account.name for account in fixture.accounts),
    )
