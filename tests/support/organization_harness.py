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
from keystead.api.enums import CredentialType, TagType
from keystead.api.errors import ServiceError
from keystead.api.records import ApiKey, Authenticator, Credential, Tag, Timestamp, User
from keystead.identities.issuers import KnownIssuers
from keystead.operations import CATALOGUE, Reading
from keystead.operations.activities import shown_activity
from keystead.organizations.ip_allowlists import EXEMPT
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.kinds.users import Passkey
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, Record, Version, from_records
from keystead.organizations.principals import Principal, ProvenKey, principal_in, unknown_key_error
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.context import SigningCache
from keystead.pipeline.environment import ChosenStatus, Environment, PipelineSettings
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.policy_set_cache import PolicySetCache
from keystead.pipeline.ports import Identities
from keystead.pipeline.submission import Liveness, Submission, read_submission
from keystead.primitives.share import Share
from keystead.server.callers import existing_organization
from tests.support.fake_signer import FakeProviders, FakeSigner
from tests.support.issuers import ISSUER
from tests.support.memory_database import MemoryDatabase
from tests.support.memory_store import MemoryStore

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

    def caller_times_ms(self) -> tuple[int, ...]:
        return (self.ms,)


def public_key(label: str) -> str:
    """A well-formed P-256 key without a private half."""
    return "02" + hashlib.sha256(label.encode()).hexdigest()


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Person:
    """A user of the first version, with the API key `public_key(name)`."""

    name: str
    tags: tuple[str, ...] = ()
    passkey: bool = False
    email: str | None = None


def _is_in(organization: Organization, caller: Principal, now_ms: int) -> bool:
    """Whether the caller would be found in this version of the organization."""
    try:
        found = principal_in(organization, caller.proven, now_ms)
    except ServiceError:
        return False
    return found is not None and found.user.user_id == caller.user.user_id


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
        chosen_status: ChosenStatus | None = None,
        **settings: Any,
    ) -> None:
        self.ids, self.clock, self.database = Ids(), ManualClock(), MemoryDatabase()
        self._found: dict[int, tuple[Principal, Organization]] = {}
        """Each caller, with the version of the organization in which it was found."""
        members = [Person(person) if isinstance(person, str) else person for person in people]
        self.tags = {tag: self.ids() for tag in dict.fromkeys(tag for person in members for tag in person.tags)}
        self.user_ids = {person.name: self.ids() for person in members}
        self.id = self.ids()
        self.first_version = from_records(self.id, Version(1, self.ids()), self._records(members, root, threshold))
        self.database.insert(self.first_version)
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
                policy_sets=PolicySetCache(),
                settings=PipelineSettings(limits=self.limits, liveness=Liveness(), **settings),
                signing_cache=SigningCache.of_bytes(1_000_000),
                chosen_status=chosen_status,
                share=Share(lambda: 0.0),  # no work is long, so that the order depends on the test alone
            )
            for store, signer in zip(self.stores, self.signers, strict=True)
        ]
        self.lifecycles = [Lifecycle(environment, self.identities) for environment in self.environments]

    def _records(self, members: Sequence[Person], root: Sequence[str], threshold: int) -> list[Record]:
        now = Timestamp.from_ms(START_MS)
        quorum = RootQuorum(threshold, tuple(self.user_ids[name] for name in root))
        found: list[Record] = [
            Profile(name="Company", root_quorum=quorum, created_at=now),
            SealedDataKey(Sealed("master", b"key")),
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

    def activities(self) -> list[RecordedActivity]:
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
            raise unknown_key_error(organization.id, proven)
        self._found[id(principal)] = principal, organization
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

    async def sending(self, caller: Principal, name: str, body: bytes, process: int = 0) -> RecordedActivity:
        operation = CATALOGUE.at(f"/public/v1/submit/{name}")
        assert isinstance(operation, ActivityOperation)
        decoded = read_submission(operation, body)
        seen = await existing_organization(self.stores[process], decoded.envelope.organization_id)
        if caller.organization_id == seen.id and not _is_in(seen, caller, self.clock.ms):
            _, seen = self._found[id(caller)]  # the key was deleted after the caller was found
        submission = Submission(body=decoded, caller=caller, seen=seen, source=EXEMPT)
        return await self.lifecycles[process].submit(submission)

    def send(self, who: str, name: str, body: bytes, key: str = "") -> RecordedActivity:
        """Submit exactly these bytes."""
        return self.run(self.sending(self.caller(who, key), name, body))

    def submit(
        self, who: str, name: str, parameters: Mapping[str, Any], key: str = "", **envelope: Any
    ) -> RecordedActivity:
        caller = self.caller(who, key, envelope.get("organizationId", ""))
        return self.run(self.sending(caller, name, self.body(name, parameters, **envelope)))

    def vote(self, who: str, name: str, activity: RecordedActivity, key: str = "") -> RecordedActivity:
        return self.submit(who, name, {"fingerprint": activity.fingerprint}, key)

    def approve(self, who: str, activity: RecordedActivity, key: str = "") -> RecordedActivity:
        return self.vote(who, "approve_activity", activity, key)

    def reject(self, who: str, activity: RecordedActivity, key: str = "") -> RecordedActivity:
        return self.vote(who, "reject_activity", activity, key)

    def reading(self, who: str) -> Reading:
        return Reading(
            now_ms=self.clock.now_ms(),
            organization=self.organization,
            caller=self.caller(who),
            source=EXEMPT,
            store=self.stores[0],
            identities=self.identities,
            environment=self.environments[0],
            open_activities=OpenActivities(self.environments[0]),
        )

    def seen(self, who: str, activity: RecordedActivity) -> records.Activity:
        """The activity as it is now, as this person sees it."""
        return asyncio.run(shown_activity(self.reading(who), self.database.activities[self.id][activity.id]))

    def result(self, who: str, name: str, parameters: Mapping[str, Any], **envelope: Any) -> Any:
        """The one result of an activity that must be completed."""
        activity = self.submit(who, name, parameters, **envelope)
        assert activity.status == "ACTIVITY_STATUS_COMPLETED", activity
        (result,) = activity.result.values()
        return json.loads(bytes(result))

    def policy(self, who: str = "Root", name: str = "", **expressions: str) -> str:
        """The id of a new policy, that this member of the root quorum makes alone. EFFECT_ALLOW unless said."""
        named = {"policyName": name or f"policy {self.ids.next}", "effect": "EFFECT_ALLOW"}
        made: str = self.result(who, "create_policy", named | expressions)["policyId"]
        return made
