"""A small organization in memory whose people submit and vote by name: the lifecycle without HTTP and stamps.

Clock, ids and key material are made up here, the same on every run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from keystead.api import records
from keystead.api.enums import AddressFormat, CredentialType, Curve, MnemonicLanguage, Oauth2Provider, TagType
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, AppProof, Authenticator, Credential, Tag, Timestamp, User
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.identities.issuers import KnownIssuers
from keystead.operations import CATALOGUE, Reading
from keystead.operations.activities import shown
from keystead.organizations.kinds.data_key import DataKey
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.kinds.passkeys import Passkey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, Record, Version, from_records
from keystead.organizations.principals import Principal, ProvenKey, principal_in, unknown
from keystead.pipeline.activity import Activity, ActivityOperation
from keystead.pipeline.context import SigningCache
from keystead.pipeline.environment import Environment, Rules
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.policy_sets import PolicySets
from keystead.pipeline.ports import (
    AccountRequest,
    AuthorizationCode,
    AuthProxyKey,
    BundleSigner,
    ClientMessage,
    CredentialBundle,
    DerivedAccount,
    Identities,
    ImportedPrivateKey,
    ImportedWallet,
    NewImportTarget,
    NewOtpTarget,
    NewPrivateKey,
    NewWallet,
    OAuth2Person,
    OtpAttempt,
    PublicInstallationKey,
    Sealed,
    SigningKey,
)
from keystead.pipeline.requests import Liveness, read_submission
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from tests.support.issuers import ISSUER
from tests.support.memory_store import MemoryDatabase, MemoryStore

START_MS = 1_800_000_000_000
DAY_MS = 24 * 3_600_000
T = TypeVar("T")


class Ids:
    """Identifiers in the order of their numbers. Setting `next` draws the same ones again."""

    def __init__(self) -> None:
        self.next = 1

    def __call__(self) -> str:
        self.next += 1
        return id_numbered(self.next - 1)


def id_numbered(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012x}"


def number_of(id_: str) -> int:
    return int(id_[-12:], 16)


class ManualClock:
    def __init__(self) -> None:
        self.ms = START_MS

    def now_ms(self) -> int:
        return self.ms


def _newest(targets: Sequence[ImportTarget]) -> str:
    if not targets:
        raise InvalidRequest("failed to decrypt bundle")
    return targets[0].id


class FakeSigner:
    """Key material that depends on nothing but ids and paths. Implements `activities.ports.Signer`."""

    async def new_data_key(self, organization_id: str) -> Sealed:
        return Sealed("master", organization_id.encode())

    async def new_otp_target(self, *, organization_id: str, data_key: Sealed, otp_id: str) -> NewOtpTarget:
        return NewOtpTarget(Sealed("data", otp_id.encode()), f"target of {otp_id}")

    async def open_otp_attempt(
        self, *, organization_id: str, data_key: Sealed, otp_id: str, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
        assert sealed.ciphertext == otp_id.encode()
        return OtpAttempt(message.ciphertext.decode(), "02" + "ab" * 32)

    async def code_digest(self, *, organization_id: str, data_key: Sealed, otp_id: str, code: str) -> bytes:
        return f"{otp_id} {code}".encode()

    async def seal_message(self, *, organization_id: str, data_key: Sealed, message_id: str, text: bytes) -> Sealed:
        return Sealed("data", text)

    async def open_message(
        self, *, organization_id: str, data_key: Sealed, message_id: str, sealed: Sealed
    ) -> bytes:
        return sealed.ciphertext

    async def create_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic_length: int,
        accounts: Sequence[AccountRequest],
    ) -> NewWallet:
        await asyncio.sleep(0)
        digests = [hashlib.sha256(f"{wallet_id}{account.path}".encode()).hexdigest() for account in accounts]
        return NewWallet(
            Sealed("data", wallet_id.encode()),
            tuple(
                DerivedAccount(account, "02" + digest, "0x" + digest[:40])
                for account, digest in zip(accounts, digests, strict=True)
            ),
        )

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        made = await self.create_wallet(
            organization_id=organization_id,
            data_key=data_key,
            wallet_id=wallet_id,
            mnemonic_length=12,
            accounts=accounts,
        )
        return made.accounts

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> NewPrivateKey:
        digest = hashlib.sha256(private_key_id.encode()).hexdigest()
        return NewPrivateKey(
            Sealed("data", private_key_id.encode()),
            "04" + digest * 2,
            tuple("0x" + digest for _ in address_formats),
        )

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        return ()

    async def sign_session_token(self, claims: SessionClaims) -> str:
        return f"session of {claims.public_key}"

    async def sign_verification_token(self, token: VerificationToken) -> str:
        return f"verification of {token.contact}"

    async def new_credential_bundle(self, target: bytes) -> CredentialBundle:
        return CredentialBundle("02" + hashlib.sha256(target).hexdigest(), target.hex())

    async def open_client_secret(self, envelope: bytes) -> bytes:
        return envelope

    async def sign_oauth_token(
        self, *, claims: OauthTokenClaims, bearer_token: bytes | None, target: bytes | None
    ) -> str:
        return f"token about {claims.subject}"

    async def new_auth_proxy_key(self, *, organization_id: str, data_key: Sealed, proxy_id: str) -> AuthProxyKey:
        return AuthProxyKey(Sealed("data", proxy_id.encode()), "02" + hashlib.sha256(proxy_id.encode()).hexdigest())

    async def sign_auth_proxy_request(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str, sealed_key: Sealed, body: bytes
    ) -> bytes:
        return hashlib.sha256(body).digest()

    async def bundle_signer(self) -> BundleSigner:
        return BundleSigner("04", "04")

    async def new_import_target(
        self, *, organization_id: str, data_key: Sealed, target_id: str, kind: ImportKind, user_id: str
    ) -> NewImportTarget:
        return NewImportTarget(Sealed("data", target_id.encode()), json.dumps({"target": target_id}))

    async def import_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        wallet_id: str,
        accounts: Sequence[AccountRequest],
    ) -> ImportedWallet:
        """The newest target opens everything."""
        wallet = await self.create_wallet(
            organization_id=organization_id,
            data_key=data_key,
            wallet_id=wallet_id,
            mnemonic_length=12,
            accounts=accounts,
        )
        return ImportedWallet(_newest(targets), wallet)

    async def import_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> ImportedPrivateKey:
        private_key = await self.create_private_key(
            organization_id=organization_id,
            data_key=data_key,
            private_key_id=private_key_id,
            curve=curve,
            address_formats=address_formats,
        )
        return ImportedPrivateKey(_newest(targets), private_key)

    async def export_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        language: MnemonicLanguage,
        target: bytes,
    ) -> str:
        return json.dumps({"wallet": wallet_id, "to": target.hex()})

    async def export_key(self, *, organization_id: str, data_key: Sealed, key: SigningKey, target: bytes) -> str:
        return json.dumps({"key": hashlib.sha256(repr(key).encode()).hexdigest(), "to": target.hex()})

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        return tuple(Signature(hashlib.sha256(one).digest(), bytes(31) + b"\1") for one in messages)

    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        return tuple(AppProof(scheme="", public_key="", proof_payload=one, signature="") for one in payloads)


class FakeProviders:
    """Knows whoever the code names. Implements `pipeline.ports.OAuth2`."""

    own_issuer = "https://own.example"

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        return OAuth2Person(f"{provider}:{code.code}", "bearer")


def public_key(label: str) -> str:
    """A well-formed P-256 key without a private half."""
    return "02" + hashlib.sha256(label.encode()).hexdigest()


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Person:
    """A founding user, with the API key `public_key(name)`."""

    name: str
    tags: tuple[str, ...] = ()
    passkey: bool = False
    email: str | None = None


class OrganizationHarness:
    """People by name, their organization, and the processes that serve it over one database.

    Methods with names in -ing are coroutines, the others run one to its end. The clock moves by a millisecond with
    every body, so that no two are the same. Tokens of ISSUER are taken, unless `identities` are others.
    """

    def __init__(
        self,
        *people: Person | str,
        root: Sequence[str],
        threshold: int = 1,
        limits: Limits | None = None,
        chance: random.Random | None = None,
        processes: int = 1,
        identities: Identities | None = None,
        **rules: Any,
    ) -> None:
        self.ids, self.clock, self.database = Ids(), ManualClock(), MemoryDatabase()
        members = [Person(person) if isinstance(person, str) else person for person in people]
        self.tags = {tag: self.ids() for tag in dict.fromkeys(tag for person in members for tag in person.tags)}
        self.user_ids = {person.name: self.ids() for person in members}
        self.id = self.ids()
        self.founding = from_records(self.id, Version(1, self.ids()), self._records(members, root, threshold))
        self.database.found(self.founding)
        self.limits = limits or Limits()
        self.stores = [MemoryStore(self.database, chance) for _ in range(processes)]
        self.identities = identities or KnownIssuers(self.clock, {ISSUER.url: ISSUER.key_set()})
        self.signers = [FakeSigner() for _ in self.stores]
        self.environments = [
            Environment(
                store=store,
                signer=signer,
                oauth2=FakeProviders(),
                clock=self.clock,
                new_id=self.ids,
                catalogue=CATALOGUE,
                policy_sets=PolicySets(),
                rules=Rules(limits=self.limits, liveness=Liveness(), **rules),
                signing_cache=SigningCache.of_bytes(1_000_000),
            )
            for store, signer in zip(self.stores, self.signers, strict=True)
        ]
        self.lifecycles = [Lifecycle(environment, self.identities) for environment in self.environments]

    def _records(self, members: Sequence[Person], root: Sequence[str], threshold: int) -> list[Record]:
        now = Timestamp.from_ms(START_MS)
        quorum = RootQuorum(threshold, tuple(self.user_ids[name] for name in root))
        found: list[Record] = [
            Profile(name="Company", root_quorum=quorum, created_at=now),
            DataKey(Sealed("master", b"key")),
            *(
                Tag(tag_id=tag_id, tag_name=tag, tag_type=TagType.USER, created_at=now, updated_at=now)
                for tag, tag_id in self.tags.items()
            ),
        ]
        for person in members:
            user = self._user(person, now)
            found += [
                user,
                *(Passkey(authenticator_id=p.authenticator_id, rp_id_hash=b"") for p in user.authenticators),
            ]
        return found

    def _user(self, person: Person, now: Timestamp) -> User:
        key = ApiKey(
            credential=Credential(public_key=public_key(person.name), type=CredentialType.API_KEY_P256),
            api_key_id=self.ids(),
            api_key_name=person.name,
            created_at=now,
            updated_at=now,
        )
        passkey = Authenticator(
            transports=(),
            attestation_type="none",
            aaguid="",
            credential_id=f"passkey-of-{person.name}",
            model="",
            credential=Credential(public_key=f"cose-{person.name}", type=CredentialType.WEBAUTHN_AUTHENTICATOR),
            authenticator_id=self.ids(),
            authenticator_name=person.name,
            created_at=now,
            updated_at=now,
        )
        return User(
            user_id=self.user_ids[person.name],
            user_name=person.name,
            authenticators=(passkey,) if person.passkey else (),
            api_keys=(key,),
            user_tags=tuple(self.tags[tag] for tag in person.tags),
            oauth_providers=(),
            mfa_policies=(),
            created_at=now,
            updated_at=now,
            user_email=person.email,
        )

    def run(self, awaitable: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await awaitable

        return asyncio.run(awaited())

    @property
    def organization(self) -> Organization:
        return self.database.organizations[self.id]

    def user(self, name: str) -> User:
        return self.organization.users[self.user_ids[name]]

    def activities(self) -> list[Activity]:
        return list(self.database.activities.get(self.id, {}).values())

    def caller(self, name: str, key: str = "", organization_id: str = "") -> Principal:
        """The principal who stamps with `key`: the name's own API key, the label of another, or "passkey"."""
        proven = ProvenKey(
            public_key=f"cose-{name}" if key == "passkey" else public_key(key or name),
            signature=f"signature by {key or name}",
            scheme="scheme",
            credential_types=frozenset(CredentialType),
            credential_id=f"passkey-of-{name}" if key == "passkey" else None,
        )
        organization = self.database.organizations[organization_id or self.id]
        principal = principal_in(organization, proven, self.clock.ms)
        if principal is None:
            raise unknown(organization.id, proven)
        return principal

    def body(self, name: str, parameters: Mapping[str, Any], **envelope: Any) -> bytes:
        operation = CATALOGUE.at(f"/public/v1/submit/{name}")
        assert operation is not None, name
        self.clock.ms += 1
        members = {
            "type": operation.activity_types[0],
            "timestampMs": str(self.clock.ms),
            "organizationId": self.id,
            "parameters": parameters,
        }
        return encoded(members | envelope)

    async def sending(self, caller: Principal, name: str, body: bytes, process: int = 0) -> Activity:
        operation = CATALOGUE.at(f"/public/v1/submit/{name}")
        assert isinstance(operation, ActivityOperation)
        seen = await self.stores[process].organization(caller.organization_id)
        assert seen is not None
        return await self.lifecycles[process].submit(read_submission(operation, body), caller, seen)

    def send(self, who: str, name: str, body: bytes, key: str = "") -> Activity:
        """Exactly these bytes."""
        return self.run(self.sending(self.caller(who, key), name, body))

    def submit(
        self, who: str, name: str, parameters: Mapping[str, Any], key: str = "", **envelope: Any
    ) -> Activity:
        caller = self.caller(who, key, envelope.get("organizationId", ""))
        return self.run(self.sending(caller, name, self.body(name, parameters, **envelope)))

    def vote(self, who: str, name: str, activity: Activity, key: str = "") -> Activity:
        return self.submit(who, name, {"fingerprint": activity.fingerprint}, key)

    def approve(self, who: str, activity: Activity, key: str = "") -> Activity:
        return self.vote(who, "approve_activity", activity, key)

    def reject(self, who: str, activity: Activity, key: str = "") -> Activity:
        return self.vote(who, "reject_activity", activity, key)

    def reading(self, who: str) -> Reading:
        return Reading(
            now_ms=self.clock.now_ms(),
            organization=self.organization,
            caller=self.caller(who),
            store=self.stores[0],
            identities=self.identities,
            open_activities=OpenActivities(self.environments[0]),
        )

    def seen(self, who: str, activity: Activity) -> records.Activity:
        """The activity as it is now, as this person sees it."""
        return asyncio.run(shown(self.reading(who), self.database.activities[self.id][activity.id]))

    def result(self, who: str, name: str, parameters: Mapping[str, Any], **envelope: Any) -> Any:
        """The one result of what must be completed."""
        activity = self.submit(who, name, parameters, **envelope)
        assert activity.status == "ACTIVITY_STATUS_COMPLETED", activity
        (result,) = activity.result.values()
        return json.loads(bytes(result))

    def policy(self, who: str = "Root", name: str = "", **expressions: str) -> str:
        """The id of a new policy, that this member of the root quorum makes alone. EFFECT_ALLOW unless said."""
        named = {"policyName": name or f"policy {self.ids.next}", "effect": "EFFECT_ALLOW"}
        made: str = self.result(who, "create_policy", named | expressions)["policyId"]
        return made
