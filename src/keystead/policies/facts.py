"""Everything a decision depends on, as one value, and how its parts read as values of the language.

Here: the facts. Not here: the decision (`judgement`), and who gathers the facts (`activities`, `operations`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from keystead.api.records import User
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.namespaces import PARAMS
from keystead.policies.policy import CompiledPolicy
from keystead.policies.resources import subject_of


class CredentialUsed(msgspec.Struct, frozen=True, kw_only=True):
    """The credential that stamped an approval. `credential_id` is that of a passkey, "" for an API key."""

    id: str
    type: str
    public_key: str
    credential_id: str = ""


class Approval(msgspec.Struct, frozen=True):
    user_id: str
    credential: CredentialUsed


class AskedActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The activity to decide on. `params` are those that policies may see, under their names in the language."""

    type: str
    params: Mapping[str, Any] = {}


class NamedPolicy(msgspec.Struct, frozen=True):
    id: str
    policy: CompiledPolicy


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision depends on.

    `users` are all users of the organization by id; `approvals` those cast so far, in their order, the submitter's
    among them; one user may have given several, with different credentials. `owner_id` is the user whose own
    credentials or session the activity is about, if it is about nothing else. `resources` holds the keywords that
    this activity fills besides `activity`: wallet, private_key, eth, …; what is absent is left out.
    `fail_closed`: a DENY policy that fails denies, unless it is certain not to apply.
    """

    root_quorum: RootQuorum
    users: Mapping[str, User]
    policies: Sequence[NamedPolicy]
    approvals: Sequence[Approval]
    submitter_id: str
    activity: AskedActivity
    now_ms: int
    owner_id: str | None = None
    resources: Mapping[str, Any] = {}
    fail_closed: bool = False


RECURRING: Final = frozenset({"wallet", "wallet_account", "private_key"})
"""Resources that are on record, so that many activities are about the same one. Their fields are hashable."""

UNREAD_CALL: Final = "a call that does not decode"
"""Among the resources where a call names a function of an uploaded interface and its arguments are not read. It is
no keyword, so no policy names it. Whatever fails then might have failed because of it: such a transaction is judged
with `fail_closed`, or arguments that do not decode would be a way past a DENY policy about arguments."""

_PARAM_DEFAULTS = {"session_profile_id": ""}


def visible_params(activity_type: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an activity's parameters, by their names in the language, that policies may see."""
    named = PARAMS.get(activity_type.removeprefix("ACTIVITY_TYPE_"), {})
    given = {name: value for name, value in parameters.items() if value is not None}
    return {name: value for name, value in (_PARAM_DEFAULTS | given).items() if name in named}


def condition_values(activity: AskedActivity, resources: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that a condition sees; so do MFA conditions and the scopes of session profiles."""
    values: dict[str, Any] = {"type": activity.type, "params": activity.params}
    if (subject := subject_of(activity.type)) is not None:
        values |= subject._asdict()
    return {**resources, "activity": values}


def user_value(user: User) -> dict[str, Any]:
    """A user as an approver. What a user has not is "", so that asking for it fails no policy."""
    return {
        "id": user.user_id,
        "tags": user.user_tags,
        "email": user.user_email or "",
        "alias": user.user_name,
    }


def credential_values(user: User, now_ms: int) -> list[dict[str, Any]]:
    """Every credential that a user could approve with now."""
    api_keys = [
        {
            "id": key.api_key_id,
            "user_id": user.user_id,
            "type": key.credential.type,
            "credential_id": "",
            "public_key": key.credential.public_key,
        }
        for key in user.api_keys
        if key.expires_at_ms is None or now_ms < key.expires_at_ms
    ]
    passkeys = [
        {
            "id": passkey.authenticator_id,
            "user_id": user.user_id,
            "type": passkey.credential.type,
            "credential_id": passkey.credential_id,
            "public_key": passkey.credential.public_key,
        }
        for passkey in user.authenticators
    ]
    return api_keys + passkeys


def consensus_values(users: Mapping[str, User], approvals: Sequence[Approval]) -> dict[str, Any]:
    """The keywords that a consensus sees: each user once, each credential once, and no user who is gone."""
    cast = [approval for approval in approvals if approval.user_id in users]
    approvers = {approval.user_id: user_value(users[approval.user_id]) for approval in cast}
    credentials = {
        approval.credential.id: {
            "id": approval.credential.id,
            "user_id": approval.user_id,
            "type": approval.credential.type,
            "credential_id": approval.credential.credential_id,
            "public_key": approval.credential.public_key,
        }
        for approval in cast
    }
    return {"approvers": list(approvers.values()), "credentials": list(credentials.values())}
