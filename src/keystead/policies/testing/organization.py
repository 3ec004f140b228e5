"""The organization that policies are tested in: its users, root quorum and policies, from a file or a server.

Here: from decoded tables to the records that a decision reads. Not here: the test cases (`cases`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.choices import did_you_mean
from keystead.api.enums import CredentialType, Effect
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, Authenticator, Credential, Policy, Timestamp, User
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.language.expression import compile_stored
from keystead.policies.policy import check_policy
from keystead.policies.policy_set import PolicySet, policy_set
from keystead.policies.request import Approval, CredentialUsed, credential_values
from keystead.policies.testing.schema import MalformedTable, MalformedTables, TomlTable, read

_UNDATED = Timestamp.from_ms(0)
API_KEY, PASSKEY = "api-key", "passkey"
"""Short names for types of credentials in test files."""
_TYPE_OF_WORD = {API_KEY: CredentialType.API_KEY_P256, PASSKEY: CredentialType.WEBAUTHN_AUTHENTICATOR}
_LASTING = frozenset(
    {
        CredentialType.WEBAUTHN_AUTHENTICATOR,
        CredentialType.API_KEY_P256,
        CredentialType.API_KEY_SECP256K1,
        CredentialType.API_KEY_ED25519,
    }
)
"""The types of credentials that are registered with a user. Keys of the other types are made by logins."""


class CredentialTable(TomlTable, frozen=True):
    type: str
    id: str = ""
    public_key: str = ""
    credential_id: str = ""


class UserTable(TomlTable, frozen=True):
    """Without an `id`, the name is the id."""

    name: str
    id: str = ""
    tags: tuple[str, ...] = ()
    email: str = ""
    credentials: tuple[str | CredentialTable, ...] = (API_KEY,)


class QuorumTable(TomlTable, frozen=True):
    """`users` by name or id."""

    threshold: int = 1
    users: tuple[str, ...] = ()


class PolicyTable(TomlTable, frozen=True, rename="camel"):
    """The parameters of create_policy."""

    policy_name: str
    effect: Effect
    consensus: str = ""
    condition: str = ""
    time: str = ""
    notes: str = ""


class OrganizationUnderTest(msgspec.Struct, frozen=True, kw_only=True):
    """`users` by id. The id of each compiled policy is its name, which is unique and readable."""

    users: Mapping[str, User]
    root_quorum: RootQuorum
    policies: PolicySet
    refuse_raw_payloads: bool = False

    def approval(self, who: str, with_credential: str, now_ms: int, where: str) -> Approval:
        """The approval by this user with this credential: its id or type, "" for the first. Raises
        MalformedTable."""
        user = named_user(self.users, who, where)
        held = credential_values(user, now_ms)
        for credential in held:
            if (
                not with_credential
                or with_credential == credential["id"]
                or _is_of_type(credential["type"], with_credential)
            ):
                used = CredentialUsed(
                    id=credential["id"],
                    type=credential["type"],
                    public_key=credential["public_key"],
                    credential_id=credential["credential_id"],
                )
                return Approval(user.user_id, used)
        wanted = with_credential or ("" if held else CredentialType.LOGIN)
        if wanted not in frozenset(CredentialType) - _LASTING:
            raise MalformedTable(where, f"{who} has no credential {with_credential!r}")
        return Approval(user.user_id, CredentialUsed(id=f"{user.user_id} session", type=wanted, public_key=""))


def organization_under_test(
    users: Iterable[User],
    root_quorum: RootQuorum,
    policies: Iterable[Policy],
    *,
    refuse_raw_payloads: bool = False,
) -> OrganizationUnderTest:
    """The organization of these records. A policy that no longer compiles is unknown, as it is on a server."""
    return OrganizationUnderTest(
        users={user.user_id: user for user in users},
        root_quorum=root_quorum,
        policies=policy_set([replace(policy, policy_id=policy.policy_name) for policy in policies], compile_stored),
        refuse_raw_payloads=refuse_raw_payloads,
    )


def read_policies(documents: Iterable[tuple[str, Any]]) -> list[Policy]:
    """The policies in these documents, each with the name of its file: one policy, a list of them, or a table with
    `policies`, as create_policies takes it. Raises MalformedTable with every policy that is malformed, also for an
    expression that is refused."""
    policies: dict[str, Policy] = {}
    malformed = MalformedTables()
    for where, value in documents:
        for place, table in _tables(where, value):
            with malformed.collect():
                policy = _read_policy(table, place)
                if policy.policy_name in policies:
                    raise MalformedTable(place, f"there is another policy {policy.policy_name!r}: names are unique")
                policies[policy.policy_name] = policy
    malformed.check()
    return list(policies.values())


def _tables(where: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value.keys() == {"policies"}:
        value = value["policies"]
    if isinstance(value, list):
        return [(f"{where}, policy {number}", table) for number, table in enumerate(value, 1)]
    return [(where, value)]


def _read_policy(value: Any, where: str) -> Policy:
    written = read(value, PolicyTable, where)
    policy = Policy(
        policy_id=written.policy_name,
        policy_name=written.policy_name,
        effect=written.effect,
        created_at=_UNDATED,
        updated_at=_UNDATED,
        notes=written.notes,
        consensus=written.consensus,
        condition=written.condition,
        time=written.time or None,
    )
    try:
        check_policy(policy, None)
    except InvalidRequest as refused:
        raise MalformedTable(where, refused.message) from None
    return policy


def read_users(tables: Iterable[Any], where: str) -> list[User]:
    """The users in these tables. Raises MalformedTable, which names every malformed user, and every name or id that
    two users have."""
    users: list[User] = []
    called: set[str] = set()
    malformed = MalformedTables()
    for number, table in enumerate(tables, 1):
        place = f"{where} {number}"
        with malformed.collect():
            written = read(table, UserTable, place)
            names = {written.name, written.id or written.name}
            if taken := called & names:
                raise MalformedTable(place, f"another user is called {min(taken)!r}")
            called |= names
            users.append(_user(written, place))
    malformed.check()
    return users


def read_quorum(table: Any, users: Iterable[User], where: str) -> RootQuorum:
    """The root quorum in a table. `users`: the users of the file. Raises MalformedTable."""
    written = read(table, QuorumTable, where)
    known = {user.user_id: user for user in users}
    members = tuple(dict.fromkeys(named_user(known, who, where).user_id for who in written.users))
    if not 1 <= written.threshold <= len(members):
        raise MalformedTable(where, f"a threshold of {written.threshold} among {len(members)} users")
    return RootQuorum(written.threshold, members)


def named_user(users: Mapping[str, User], called: str, where: str) -> User:
    """The user of this id, else of this name. Raises MalformedTable unless exactly one user matches."""
    if called in users:
        return users[called]
    matching = [user for user in users.values() if user.user_name == called]
    if len(matching) > 1:
        raise MalformedTable(where, f"{len(matching)} users are called {called!r}: give an id")
    if not matching:
        near = did_you_mean(called, (user.user_name for user in users.values()))
        raise MalformedTable(where, f"no user is called {called!r}{near}")
    return matching[0]


def _user(written: UserTable, where: str) -> User:
    user_id = written.id or written.name
    api_keys: list[ApiKey] = []
    passkeys: list[Authenticator] = []
    for number, entry in enumerate(written.credentials, 1):
        held = CredentialTable(type=entry) if isinstance(entry, str) else entry
        kind = _TYPE_OF_WORD.get(held.type, held.type)
        if kind not in _LASTING:
            expected = ", ".join([*_TYPE_OF_WORD, *sorted(_LASTING)])
            raise MalformedTable(
                where, f"not a type of credential that users register: {held.type!r}; expected one of {expected}"
            )
        credential_id = held.id or f"{user_id} {held.type} {number}"
        credential = Credential(public_key=held.public_key, type=CredentialType(kind))
        if kind == CredentialType.WEBAUTHN_AUTHENTICATOR:
            passkeys.append(_passkey(credential_id, credential, held.credential_id or credential_id))
        else:
            api_keys.append(
                ApiKey(
                    credential=credential,
                    api_key_id=credential_id,
                    api_key_name=credential_id,
                    created_at=_UNDATED,
                    updated_at=_UNDATED,
                )
            )
    return User(
        user_id=user_id,
        user_name=written.name,
        authenticators=tuple(passkeys),
        api_keys=tuple(api_keys),
        user_tags=written.tags,
        oauth_providers=(),
        mfa_policies=(),
        created_at=_UNDATED,
        updated_at=_UNDATED,
        user_email=written.email or None,
    )


def _passkey(authenticator_id: str, credential: Credential, credential_id: str) -> Authenticator:
    return Authenticator(
        transports=(),
        attestation_type="none",
        aaguid="",
        credential_id=credential_id,
        model="",
        credential=credential,
        authenticator_id=authenticator_id,
        authenticator_name=authenticator_id,
        created_at=_UNDATED,
        updated_at=_UNDATED,
    )


def _is_of_type(credential_type: str, word: str) -> bool:
    if word == API_KEY:
        return credential_type.startswith("CREDENTIAL_TYPE_API_KEY_")
    return credential_type == _TYPE_OF_WORD.get(word, word)
