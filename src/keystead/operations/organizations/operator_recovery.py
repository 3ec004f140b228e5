"""Recovery of an organization whose root users are locked out: an activity of the operator (`keystead recover`).

Here: what it may change, and the line for the log. Not here: who may call it (`server.installation.recovery`),
recovery by a user's own e-mail (`logins.email_recovery`)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import ApiKeyParamsV2, RequestStruct
from keystead.api.records import Timestamp, User, Wire
from keystead.operations.declare import operator_activity
from keystead.operations.logins.outgoing_messages import log_line
from keystead.operations.organizations.organization_settings import UpdateRootQuorumIntent, root_quorum_change
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.credentials.api_keys import check_public_keys_free, new_api_key, with_api_keys
from keystead.organizations.credentials.credentials import (
    CREDENTIAL_KINDS,
    check_not_held_by_siblings,
    credentials_by_id,
)
from keystead.organizations.kinds.ip_allowlists import IpAllowlists
from keystead.organizations.kinds.users import Passkey, Users
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.users import check_held
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import ExecutionWith, Output
from keystead.pipeline.operation import AddedCredential, KnownBefore

LOST_AT_ONCE = 200
"""Most credentials that one recovery removes: more than a user may have."""


class ReplacedRootCredential(RequestStruct, frozen=True):
    """A new API key of a member of the root quorum, and the ids of the member's credentials that are lost, of any
    kind. These are removed. The member's MFA policies are removed too, because they may ask for what is lost."""

    user_id: Uuid
    api_key: ApiKeyParamsV2
    lost_credential_ids: Annotated[tuple[Uuid, ...], Meta(max_length=LOST_AT_ONCE)] = ()


class RecoverOrganizationIntent(RequestStruct, frozen=True):
    """Exactly one member. `lift_ip_allowlist`: the organization's list, and with it the lists of its API keys, stay
    on record and are no longer enforced."""

    replace_root_credential: ReplacedRootCredential | None = None
    set_root_quorum: UpdateRootQuorumIntent | None = None
    lift_ip_allowlist: bool | None = None


class RecoverOrganizationResult(Wire, frozen=True):
    """`api_key_id`: of the new API key."""

    api_key_id: str | None = None


async def _held_by_siblings(source: ForeignSource, intent: RecoverOrganizationIntent) -> HeldBySiblings:
    replaced = intent.replace_root_credential
    return await held_by_siblings(source, api_keys=() if replaced is None else (replaced.api_key,))


def _added(_: KnownBefore, intent: RecoverOrganizationIntent) -> list[AddedCredential]:
    replaced = intent.replace_root_credential
    return [] if replaced is None else adding.api_keys([replaced.api_key], replaced.user_id)


@operator_activity("ACTIVITY_TYPE_RECOVER_ORGANIZATION", load_context=_held_by_siblings, adds=_added)
async def recover_organization(
    execution: ExecutionWith[HeldBySiblings], intent: RecoverOrganizationIntent
) -> Output[RecoverOrganizationResult]:
    """Replace a lost root credential, set a root quorum that can be reached, or lift the IP allow-list."""
    api_key_id = None
    changes: tuple[Change, ...]
    replaced, quorum, lifts = intent.replace_root_credential, intent.set_root_quorum, intent.lift_ip_allowlist
    if [replaced is not None, quorum is not None, bool(lifts)].count(True) != 1:
        raise InvalidRequest("invalid request: field `parameters`: expected exactly one member")
    if replaced is not None:
        user, changes = _with_new_key(execution, replaced)
        api_key_id = user.api_keys[-1].api_key_id
        lost = len(replaced.lost_credential_ids)
        what = f"user {user.user_id} has a new API key {api_key_id}, credentials removed: {lost}"
    elif quorum is not None:
        changes = (root_quorum_change(execution.organization, quorum, "parameters.setRootQuorum"),)
        what = f"its root quorum is {quorum.threshold} of {', '.join(quorum.user_ids)}"
    else:
        changes = (_lifted_allowlist(execution.organization),)
        what = "its IP allow-list is no longer enforced"
    line = f"the operator has changed an organization by keystead recover: {what}"
    return Output(
        result=RecoverOrganizationResult(api_key_id=api_key_id),
        changes=changes,
        attachments=(await log_line(execution, line),),
    )


def _with_new_key(
    execution: ExecutionWith[HeldBySiblings], replaced: ReplacedRootCredential
) -> tuple[User, tuple[Change, ...]]:
    """The member with the new API key as its last one, and the changes."""
    organization, field = execution.organization, "parameters.replaceRootCredential"
    user = organization.record(Users, replaced.user_id)
    members = organization.profile.root_quorum.user_ids
    if user.user_id not in members:
        raise InvalidRequest(
            f"invalid request: field `{field}.userId`: user {user.user_id} is not in the root quorum; its members "
            f"are {', '.join(members)}. They can give other users new credentials"
        )
    now = Timestamp.from_ms(execution.now_ms)
    key = new_api_key(replaced.api_key, execution.new_id(), now, f"{field}.apiKey")
    check_public_keys_free(organization, [key])
    check_not_held_by_siblings(execution.context, [key.credential.public_key])
    left = _without_lost(user, frozenset(replaced.lost_credential_ids))
    recovered = replace(
        left,
        api_keys=with_api_keys(left.api_keys, [key], execution.limits, execution.now_ms),
        mfa_policies=(),
        updated_at=now,
    )
    removed_passkeys = {each.authenticator_id for each in user.authenticators} & set(replaced.lost_credential_ids)
    return recovered, (Put(recovered), *(Remove(Passkey, id_) for id_ in sorted(removed_passkeys)))


def _without_lost(user: User, lost: frozenset[str]) -> User:
    """The user without these credentials. Raises NotFound if the user does not have one of them."""
    check_held(sorted(lost), credentials_by_id(user), "credential", user)
    kept = {
        kind.field: tuple(credential for id_, credential in kind.by_id(user).items() if id_ not in lost)
        for kind in CREDENTIAL_KINDS
    }
    return replace(user, **kept)


def _lifted_allowlist(organization: Organization) -> Change:
    allowlist = organization.of(IpAllowlists).get("")
    if allowlist is None or not allowlist.enabled:
        raise NotFound(f"organization {organization.id} enforces no IP allow-list")
    return Put(replace(allowlist, enabled=False))
