"""Everything that a decision depends on besides the policies, as one value; and its parts as values of the
language.

Not here: the decision (`authorize`), and where the parts of a request come from (`pipeline.authorization`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.enums import PayloadEncoding
from keystead.api.records import User
from keystead.organizations.kinds.profile import RootQuorum
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.language.namespaces import PARAMS
from keystead.policies.resources import attributes_of
from keystead.primitives.unreadable import Unreadable
from keystead.sessions.one_time_codes import LENGTH_DEFAULT


class CredentialUsed(msgspec.Struct, frozen=True, kw_only=True):
    """The credential that stamped an approval. `credential_id` is that of a passkey, "" for an API key."""

    id: str
    type: str
    public_key: str
    credential_id: str = ""


class Approval(msgspec.Struct, frozen=True):
    """`credential`: None if the credential does not count: it was registered after the submission, or a credential
    that counts began its session."""

    user_id: str
    credential: CredentialUsed | None


class RequestedActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The activity to decide on. `params` are those that policies may see, by their names in the language."""

    type: str
    params: Mapping[str, Any] = {}


class ResourceKeywords(msgspec.Struct, frozen=True):
    """The keywords that an activity fills besides `activity`.

    `others`: the values for the further items of a batch. Each item is decided on its own. A field whose value
    cannot be known is an Unreadable.
    """

    values: Mapping[str, Any] = {}
    others: tuple[Mapping[str, Any], ...] = ()

    @property
    def items(self) -> tuple[Mapping[str, Any], ...]:
        return (self.values, *self.others)


class AuthorizationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a decision depends on, besides the policies.

    - `users`: all users of the organization by id.
    - `approvals`: the approvals so far, in order, with the submitter's. A user may have approved several times,
      with different credentials.
    - `registered_later`: the ids of credentials that were registered after the submission. They do not count.
    - `added`: the credentials that it adds, as values of the language; `new_users`: the users that it adds.
    - `owner_id`: the user whose own credentials or session the activity changes, if it changes nothing else.
    - `resources`: the keywords that this activity has besides `activity`: wallet, private_key, eth, …
    - `others`: the resources of the further items of a batch. `batch_size`: the number of items that share the
      steps of a decision.
    - `refuses_raw_payload`: only the root quorum may have this payload signed.
    - `scope`: the scope of the session that submits it; None for a credential without limits.
    """

    root_quorum: RootQuorum
    users: Mapping[str, User]
    approvals: Sequence[Approval]
    submitter_id: str
    activity: RequestedActivity
    now_ms: int
    registered_later: frozenset[str] = frozenset()
    added: Sequence[Mapping[str, Any]] = ()
    new_users: Sequence[Mapping[str, Any]] = ()
    owner_id: str | None = None
    resources: Mapping[str, Any] = {}
    refuses_raw_payload: bool = False
    scope: CompiledExpression | None = None
    others: tuple[Mapping[str, Any], ...] = ()
    batch_size: int = 1

    def items(self) -> list[AuthorizationRequest]:
        """One request for each item of a batch. Most activities have one item."""
        if not self.others:
            return [self]
        keywords = (self.resources, *self.others)
        return [replace(self, resources=item, others=(), batch_size=len(keywords)) for item in keywords]


RAW_PAYLOAD_KINDS: Final = ("SIGN_RAW_PAYLOAD", "SIGN_RAW_PAYLOADS")
RAW_ENCODINGS: Final = (PayloadEncoding.HEXADECIMAL, PayloadEncoding.TEXT_UTF8)
"""Encodings of payloads that may be the bytes or the digest of a transaction. EIP-712 and EIP-7702 payloads begin
with bytes that no transaction begins with."""


def may_sign_transaction_unseen(activity: RequestedActivity) -> bool:
    """Whether the activity signs a raw payload that may be a transaction, which policies cannot read."""
    is_raw = activity_kind(activity.type) in RAW_PAYLOAD_KINDS
    return is_raw and activity.params.get("encoding") in RAW_ENCODINGS


_PARAM_DEFAULTS: Final = {"session_profile_id": "", "otp_length": LENGTH_DEFAULT}
_LEFT_OUT: Final = Unreadable("the request leaves it out")
_IN_NO_GROUP: Final = Unreadable("the kind of activity belongs to no resource")


def visible_params(activity_type: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an activity that policies may see, by their names in its current version. One that is left
    out has its default, or is unreadable."""
    given = {name: value for name, value in parameters.items() if value is not None}
    named = PARAMS.get(activity_kind(activity_type), {})
    return {name: given.get(name, _PARAM_DEFAULTS.get(name, _LEFT_OUT)) for name in named}


def condition_values(activity: RequestedActivity, resources: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that a condition sees; so do MFA conditions and the scopes of session profiles."""
    attributes = attributes_of(activity.type)
    values = {
        "type": activity.type,
        "params": activity.params,
        "kind": activity_kind(activity.type),
        "resource": attributes.resource if attributes else _IN_NO_GROUP,
        "action": attributes.action if attributes else _IN_NO_GROUP,
    }
    return {**resources, "activity": values}


def time_values(now_ms: int) -> dict[str, Any]:
    """The keywords that a time expression sees."""
    return {"time": {"now": now_ms * 1_000_000}}


def user_value(user: User) -> dict[str, Any]:
    """A user as an approver. A user without an e-mail address has the address ""."""
    return {
        "id": user.user_id,
        "tags": user.user_tags,
        "email": user.user_email or "",
        "alias": user.user_name,
    }


def credential_value(user_id: str, credential: CredentialUsed) -> dict[str, Any]:
    return {
        "id": credential.id,
        "user_id": user_id,
        "type": credential.type,
        "credential_id": credential.credential_id,
        "public_key": credential.public_key,
    }


def credential_values(
    user: User, now_ms: int, registered_later: Container[str] = frozenset()
) -> list[dict[str, Any]]:
    """Every credential with which a user could give an approval now that counts. `registered_later`: the ids of
    those that do not count."""
    api_keys = [
        CredentialUsed(id=key.api_key_id, type=key.credential.type, public_key=key.credential.public_key)
        for key in user.api_keys
        if key.expires_at_ms is None or now_ms < key.expires_at_ms
    ]
    passkeys = [
        CredentialUsed(
            id=passkey.authenticator_id,
            type=passkey.credential.type,
            public_key=passkey.credential.public_key,
            credential_id=passkey.credential_id,
        )
        for passkey in user.authenticators
    ]
    return [
        credential_value(user.user_id, credential)
        for credential in (*api_keys, *passkeys)
        if credential.id not in registered_later
    ]


def consensus_values(users: Mapping[str, User], approvals: Sequence[Approval]) -> dict[str, Any]:
    """The keywords that a consensus sees: each approver once, each credential that counts once. Deleted users are
    left out."""
    present = [approval for approval in approvals if approval.user_id in users]
    approvers = {approval.user_id: user_value(users[approval.user_id]) for approval in present}
    credentials = {
        approval.credential.id: credential_value(approval.user_id, approval.credential)
        for approval in present
        if approval.credential is not None
    }
    return {"approvers": list(approvers.values()), "credentials": list(credentials.values())}


class EverybodyValues(Mapping[str, Any]):
    """The values of a consensus as if every user had approved, with every credential that counts, and these further
    approvers. They are computed when first read, because there may be many users and few consensuses need them."""

    def __init__(self, request: AuthorizationRequest, further: Sequence[Mapping[str, Any]] = ()) -> None:
        self._request = request
        self._further = further
        self._computed: dict[str, Any] = {}

    def __getitem__(self, keyword: str) -> Any:
        if keyword not in self._computed:
            self._computed[keyword] = self._approvers() if keyword == "approvers" else self._credentials()
        return self._computed[keyword]

    def _approvers(self) -> list[Mapping[str, Any]]:
        return [*[user_value(user) for user in self._request.users.values()], *self._further]

    def _credentials(self) -> list[dict[str, Any]]:
        request = self._request
        return [
            credential
            for user in request.users.values()
            for credential in credential_values(user, request.now_ms, request.registered_later)
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(("approvers", "credentials"))

    def __len__(self) -> int:
        return 2
