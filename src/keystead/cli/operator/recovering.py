"""`keystead recover`: lets people in again who are locked out. It needs the database and the master key.

Here: the flags, the questions, the file with the new key. Not here: what is changed
(`operations.organizations.operator_recovery`), how it is written (`server.installation.recovery`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final, NamedTuple, assert_never

import msgspec
import typer

from keystead.api.enums import ApiKeyCurve
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import ApiKey, Authenticator, OauthProvider, User, WalletAuthenticator
from keystead.cli.asking import Yes, confirm, is_yes
from keystead.cli.credentials import (
    BaseUrl,
    NewCredentials,
    PublicKeyOption,
    check_is_new,
    check_new_key,
    kept_if_on_record,
    write_credentials,
)
from keystead.cli.failure import Failure
from keystead.cli.groups import group
from keystead.cli.operator import chosen_installation
from keystead.cli.operator.database_url import database_failures
from keystead.cli.texts import counted, moment, printable
from keystead.client.credentials import Credentials
from keystead.operations.organizations.operator_recovery import RecoverOrganizationIntent, ReplacedRootCredential
from keystead.operations.organizations.organization_settings import UpdateRootQuorumIntent
from keystead.organizations.credentials.credentials import UserCredential, credentials_by_id
from keystead.organizations.kinds.ip_allowlists import IpAllowlists
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.organization import Organization
from keystead.server.installation.recovery import organization_to_recover, recover
from keystead.server.opening import NotReady
from keystead.server.settings.settings import Settings, SettingsError
from keystead.signer.confinement import keep_memory_private
from keystead.stamps.signing import ApiKeyPair, generate_api_key

app = group("Let people in again who are locked out of an organization.")

ALL: Final = "all"
NONE: Final = "none"
_COMMAND: Final = "keystead recover"

OrganizationOption = Annotated[
    str,
    typer.Option(
        "--organization", metavar="ID", help="The organization. [default: the first one of the installation]"
    ),
]
UserOption = Annotated[
    str,
    typer.Option("--user", metavar="ID", help="The member of the root quorum. Not needed if there is only one."),
]
LostOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID",
        help=f"A lost credential, to be removed: its id, {ALL} or {NONE}. Repeatable. Without it, you are asked.",
    ),
]
KeyName = Annotated[str, typer.Option("--api-key-name", help="The name of the new API key.")]
MemberOption = Annotated[list[str], typer.Option("--member", metavar="ID", help="A member. Repeatable.")]
ThresholdOption = Annotated[int, typer.Option(min=1, help="How many members must approve.")]


@app.command("credential")
def credential(
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    other_master_key_file: chosen_installation.ChosenOtherMasterKey = "",
    data: chosen_installation.ChosenData = None,
    organization_id: OrganizationOption = "",
    user_id: UserOption = "",
    lost: LostOption = None,
    credentials: NewCredentials = None,
    api_public_key: PublicKeyOption = "",
    api_key_name: KeyName = "Recovery key",
    base_url: BaseUrl = "http://localhost:8080",
    yes: Yes = False,
) -> None:
    """Replace lost credentials of a root user.

    A member of the root quorum gets a new API key. The MFA policies of this user are removed too, because they may
    ask for what is lost. Servers may run meanwhile.
    """
    check_new_key(credentials, api_public_key, base_url)
    check_is_new(credentials)
    recovery = _Recovery(
        chosen_installation.chosen_settings(
            database_url=database_url,
            master_key_file=master_key_file,
            other_master_key_file=other_master_key_file,
            data=data,
        ),
        organization_id,
        yes,
    )
    user = recovery.member(user_id)
    lost_ids = recovery.lost(user, lost)
    policies = counted(len(user.mfa_policies), "MFA policy", "MFA policies")
    removed = f"{counted(len(lost_ids), 'credential', 'credentials')} and {policies} of this user are removed"
    recovery.confirm(f"{_user_text(user)} gets a new API key. {removed}.")
    pair = None if api_public_key else generate_api_key()
    public_key = api_public_key if pair is None else pair.public_key
    written = None if pair is None else credentials
    intent = RecoverOrganizationIntent(
        replace_root_credential=ReplacedRootCredential(
            user_id=user.user_id,
            api_key=ApiKeyParamsV2(api_key_name=api_key_name, public_key=public_key, curve_type=ApiKeyCurve.P256),
            lost_credential_ids=lost_ids,
        )
    )
    if pair is not None and written is not None:
        # It is written before the key is committed, so that the key is never lost.
        write_credentials(written, _credentials(base_url, recovery.organization.id, user.user_id, pair))
    with recovery.failures(), kept_if_on_record(written):
        recovery.carry_out(intent)
    if written is not None:
        print(f"The new key is in {written}. Give the file to {_user_text(user)}, and delete it here.")


@app.command("quorum")
def quorum(
    member: MemberOption,
    threshold: ThresholdOption,
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    other_master_key_file: chosen_installation.ChosenOtherMasterKey = "",
    data: chosen_installation.ChosenData = None,
    organization_id: OrganizationOption = "",
    yes: Yes = False,
) -> None:
    """Replace a root quorum that cannot be reached. Servers may run meanwhile."""
    recovery = _Recovery(
        chosen_installation.chosen_settings(
            database_url=database_url,
            master_key_file=master_key_file,
            other_master_key_file=other_master_key_file,
            data=data,
        ),
        organization_id,
        yes,
    )
    organization = recovery.organization
    if unknown := [id_ for id_ in member if id_ not in organization.users]:
        raise Failure(f"--member {unknown[0]}: there is no such user in this organization")
    if threshold > len(set(member)):
        raise Failure(f"--threshold {threshold}: expected 1 to {len(set(member))}, the number of members")
    before = organization.profile.root_quorum
    after = RootQuorum(threshold, tuple(dict.fromkeys(member)))
    recovery.confirm(
        f"The root quorum, which may do everything, is {_quorum_text(organization, before)}. "
        f"It becomes {_quorum_text(organization, after)}."
    )
    wanted = UpdateRootQuorumIntent(threshold=threshold, user_ids=after.user_ids)
    with recovery.failures():
        recovery.carry_out(RecoverOrganizationIntent(set_root_quorum=wanted))


@app.command("ip-allowlist")
def ip_allowlist(
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    other_master_key_file: chosen_installation.ChosenOtherMasterKey = "",
    data: chosen_installation.ChosenData = None,
    organization_id: OrganizationOption = "",
    yes: Yes = False,
) -> None:
    """Lift the IP allow-list of an organization.

    Its list and those of its API keys stay on record and are no longer enforced. Servers may run meanwhile.
    """
    recovery = _Recovery(
        chosen_installation.chosen_settings(
            database_url=database_url,
            master_key_file=master_key_file,
            other_master_key_file=other_master_key_file,
            data=data,
        ),
        organization_id,
        yes,
    )
    allowlist = recovery.organization.of(IpAllowlists).get("")
    if allowlist is None or not allowlist.enabled:
        raise Failure("nothing was done: the organization enforces no IP allow-list")
    rules = ", ".join(rule.cidr for rule in allowlist.rules) or "none: every address is refused"
    recovery.confirm(f"Requests are accepted only from: {rules}. They will be accepted from every address.")
    with recovery.failures():
        recovery.carry_out(RecoverOrganizationIntent(lift_ip_allowlist=True))


class _Recovery:
    """One recovery: the organization as it is, the questions, the commit.

    It is opened with the master key before anything is asked, so a wrong key is refused at once.
    """

    def __init__(self, settings: Settings, organization_id: str, yes: bool) -> None:
        """Show the organization. Raises Failure."""
        keep_memory_private()
        self._settings = settings
        self._yes = yes
        with self.failures():
            self.organization = asyncio.run(organization_to_recover(settings, organization_id))
        profile = self.organization.profile
        print(f"Organization  {printable(profile.name)} ({self.organization.id})")
        if profile.parent_id is not None:
            print(f"              a sub-organization of {profile.parent_id}")

    def member(self, user_id: str) -> User:
        """The member of the root quorum with this id, or the only one. Raises Failure."""
        users = self.organization.users
        members = self.organization.profile.root_quorum.user_ids
        if not user_id and len(members) == 1:
            user_id = members[0]
        if user_id not in members:
            listed = ", ".join(_user_text(users[each]) for each in members)
            what = f"--user {user_id} is not in the root quorum" if user_id else "name a user with --user"
            raise Failure(f"{what}; its members are {listed}")
        return users[user_id]

    def lost(self, user: User, given: Sequence[str] | None) -> tuple[str, ...]:
        """The ids of the credentials that are lost. Asks for them if none are given. Raises Failure."""
        held = _credentials_of(user)
        print(f"User          {_user_text(user)}")
        for each in held:
            print(f"              {each.text}")
        ids = tuple(each.id for each in held)
        if not given and self._yes:
            raise Failure(f"say what is lost with --lost: {ALL}, {NONE}, or ids of {', '.join(ids)}")
        if not given:
            if is_yes("Is every credential of this user lost? Lost credentials are removed.", _COMMAND):
                return ids
            return tuple(each.id for each in held if is_yes(f"Is it lost: {each.text}?", _COMMAND))
        if list(given) in ([ALL], [NONE]):
            return ids if given[0] == ALL else ()
        if unknown := [id_ for id_ in given if id_ not in ids]:
            raise Failure(f"--lost {unknown[0]}: this user has no such credential: {', '.join(ids)}")
        return tuple(dict.fromkeys(given))

    def confirm(self, consequence: str) -> None:
        """Show what will be changed, and ask twice. Raises Failure unless both answers are yes."""
        print(f"\n{consequence}")
        print("It is recorded as an activity of the organization, and announced to its webhooks and in the log.")
        confirm(f"Is {printable(self.organization.profile.name)!r} the right organization?", self._yes, _COMMAND)
        confirm("Do it?", self._yes, _COMMAND)

    def carry_out(self, intent: RecoverOrganizationIntent) -> None:
        """Write it, and say so. Raises what `recover` raises."""
        try:
            activity = asyncio.run(recover(self._settings, self.organization.id, intent))
        except NotReady as refused:
            raise Failure(str(refused)) from None
        print(f"\nDone: activity {activity.id}, {activity.type}. Servers use it from their next request on.")

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn the errors of the block into Failure."""
        try:
            with database_failures(self._settings.database_url):
                yield
        except (NotReady, SettingsError) as refused:
            raise Failure(str(refused)) from None


class _HeldCredential(NamedTuple):
    id: str
    text: str


def _credentials_of(user: User) -> list[_HeldCredential]:
    """Every credential of a user, keys of sessions included."""
    return [
        _HeldCredential(
            id_, f"{_called(credential)}, of {moment(msgspec.to_builtins(credential.created_at))}, id {id_}"
        )
        for id_, credential in credentials_by_id(user).items()
    ]


def _called(credential: UserCredential) -> str:
    match credential:
        case ApiKey():
            kind = "API key" if credential.expiration_seconds is None else "expiring API key"
            return f"{kind} {printable(credential.api_key_name)!r}"
        case Authenticator():
            return f"passkey {printable(credential.authenticator_name)!r}"
        case OauthProvider():
            return f"OAuth provider {printable(credential.provider_name)!r}"
        case WalletAuthenticator():
            return f"wallet {printable(credential.address)!r} at {printable(credential.domain)!r}"
        case _:
            assert_never(credential)


def _user_text(user: User) -> str:
    email = f", {printable(user.user_email)}" if user.user_email else ""
    return f"{printable(user.user_name)!r} ({user.user_id}{email})"


def _quorum_text(organization: Organization, root_quorum: RootQuorum) -> str:
    members = ", ".join(_user_text(organization.users[id_]) for id_ in root_quorum.user_ids)
    return f"{root_quorum.threshold} of {members}"


def _credentials(base_url: str, organization_id: str, user_id: str, pair: ApiKeyPair) -> Credentials:
    return Credentials(
        base_url=base_url,
        organization_id=organization_id,
        user_id=user_id,
        api_public_key=pair.public_key,
        api_private_key=pair.private_key,
    )
