"""An operation that submits activities, as the pipeline sees it: its versions, its functions, the credentials that
its activities add.

Here: the declaration. Not here: how a function is declared as an operation (`operations.declare`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Final

import msgspec

from keystead.api.catalogue import Operation, OperationKind, activity_kind, wire_key
from keystead.api.decoding import Decoder
from keystead.api.enums import CredentialType, VoteSelection
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.chains.outflow import SignedMovements
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.lookups import AccountValue
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Output, RefusalWithRows
from keystead.policies.request import ResourceKeywords
from keystead.primitives.unreadable import Unreadable


class NewUser(msgspec.Struct, frozen=True):
    """A user whom the activity adds."""

    name: str
    email: str
    tags: Sequence[str]

    def as_approver(self) -> dict[str, Any]:
        """The user as a consensus will see it. Nobody has the id yet, so it equals no id in a policy."""
        return {"id": "", "tags": self.tags, "email": self.email, "alias": self.name}


class AddedCredential(msgspec.Struct, frozen=True, kw_only=True):
    """A credential that an activity adds.

    - `holder`: its user: an id, a new user, or None if only the execution finds out.
    - `is_session`: it is the key of a session.
    - `id`, `public_key`, `credential_id`: None if only the execution finds out; "" for what nobody has yet.
    """

    type: CredentialType
    holder: str | NewUser | None
    is_session: bool = False
    id: str = ""
    public_key: str | None = None
    credential_id: str | None = ""

    def as_value(self) -> Mapping[str, Any]:
        """The credential as a consensus will see it."""
        return {
            "id": self.id,
            "user_id": "" if isinstance(self.holder, NewUser) else _known(self.holder),
            "type": self.type,
            "credential_id": _known(self.credential_id),
            "public_key": _known(self.public_key),
        }


class KnownBefore(msgspec.Struct, frozen=True):
    """What is known before the decision, for operations whose intent alone does not say what they add.

    `identities`: what the request's ID tokens proved, by field. `context`: what the operation looked up; None if it
    looks nothing up, or if that failed, so that it is not executed.
    """

    organization: Organization
    submitter_id: str
    identities: Mapping[str, ProvenIdentity]
    context: Any


_LATER = Unreadable("it is known when the credential is added")


def _known(text: str | None) -> str | Unreadable:
    return _LATER if text is None else text


THE_SUBMITTER: Final = ""
"""What `owner` returns for the user who submits the activity."""

Execute = Callable[[Any, Any], Output[Wire] | RefusalWithRows | Awaitable[Output[Wire] | RefusalWithRows]]
OwnerOf = Callable[[Any], str | None]
LoadContext = Callable[[ContextSource, Any], Awaitable[Any]]
Resources = Callable[[Organization, Any, Any], ResourceKeywords]
Precondition = Callable[[str, Any], None]
OidcTokens = Callable[[Any], Mapping[str, str]]
Adds = Callable[[KnownBefore, Any], Sequence[AddedCredential]]
Signs = Callable[[Any], SignedMovements]


class IntentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an activity type: its parameters, and how to convert them to those of the current version.

    `result` converts the current version's result to this version's; None if they are the same. `result_key` names
    the member that holds it.
    """

    activity_type: str
    intent: type[RequestStruct]
    result_key: str
    result_struct: type[Wire]
    upgrade: Callable[[Any], RequestStruct]
    decoder: Decoder
    result: Callable[[Any], Wire] | None = None

    @property
    def intent_key(self) -> str:
        return wire_key(self.intent)


class UserProof(Enum):
    """What proves the user of a sub-organization in a request that a user of the parent submits."""

    CODE = "a one-time code that the user's contact got"
    ID_TOKEN = "an ID token of the user's identity"  # noqa: S105 (a description)
    MESSAGE = "what the request gives is sent to the user's contact alone"
    NONE = "nothing"


class ByParent(msgspec.Struct, frozen=True):
    """A user of the parent may submit the operation to a sub-organization, if the parent's policies allow it.

    `proof`: what proves the user whom it changes. With NONE, the sub-organization must have the feature
    PARENT_AUTH. `user_lookup` returns the value that finds the sub-organization, if the submission names the
    parent. The value is not proven yet: the execution proves it.
    """

    proof: UserProof
    user_lookup: Callable[[Any], AccountValue | None] | None = None


class ActivityOperation(Operation, frozen=True, kw_only=True):
    """An operation that submits an activity.

    - `owner` returns the id of the user whose own credentials or session the intent is about. That user may do so
      without a policy. It returns THE_SUBMITTER for the user who submits it, and None if the user is not known.
    - `vote`: the operation is this vote on another activity. It executes nothing.
    - `by_parent`: None if only the organization's own users may submit it.
    - `asks_provider`: the execution may wait for a provider of OAuth 2.0.
    - `adds`: the credentials that the intent adds; THE_SUBMITTER as a holder is the user who submits it. None if it
      adds none in its organization. An execution that adds others is not committed (`pipeline.changes`).
    - `also_does`: the other kinds of activity whose effect it can have, too, or a part of it. A policy that denies
      one of them and not this one gets a warning.
    - `changes_organization` is False if no execution changes the organization. Then submissions do not queue.

    These functions take an intent of the current version:

    - `oidc_tokens` returns the intent's ID tokens by field. They are verified once, when it is submitted.
    - `precondition` gets the submitter's id and refuses a new submission before any policy is evaluated.
    - `load_context` runs before every decision. It looks up what `resources` and the execution need beyond the
      organization. If it may read rows of the organization itself (`context_is_own`), the commits before the
      activity are durable first.
    - `resources` returns the keywords besides `activity` that policies see, from the organization, the intent and
      the context (None without `load_context`).
    - `signs` returns, from the context, what the activity moves if it is executed.
    """

    kind: ClassVar[OperationKind] = "submit"

    versions: tuple[IntentVersion, ...]
    result: type[Wire]
    execute: Execute
    changes_organization: bool
    asks_provider: bool
    load_context: LoadContext | None
    context_is_own: bool
    resources: Resources | None
    owner: OwnerOf | None = None
    vote: VoteSelection | None = None
    by_parent: ByParent | None = None
    precondition: Precondition | None = None
    oidc_tokens: OidcTokens | None = None
    adds: Adds | None = None
    signs: Signs | None = None
    also_does: tuple[str, ...] = ()

    def version_of(self, activity_type: str) -> IntentVersion | None:
        for version in self.versions:
            if version.activity_type == activity_type:
                return version
        return None


def alternatives(operations: Iterable[Operation]) -> dict[str, tuple[str, ...]]:
    """For each kind of activity that has some, the other kinds that can do the same, as the operations declare
    it."""
    found: dict[str, list[str]] = {}
    for operation in operations:
        if isinstance(operation, ActivityOperation):
            for kind in operation.also_does:
                found.setdefault(kind, []).append(activity_kind(operation.activity_types[0]))
    return {kind: tuple(sorted(others)) for kind, others in sorted(found.items())}
