"""An activity as it is kept, what it is made of, and what one execution needs and yields.

Here: the values. Not here: how an activity moves (`lifecycle`), how it reads on the wire (`view`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from keystead.activities.ports import Signer
from keystead.api.catalogue import Kind, Operation, activity_kind, wire_key
from keystead.api.decoding import Decoder
from keystead.api.enums import ActivityStatus
from keystead.api.parameters import Asked
from keystead.api.records import AppProof, Status, Vote, WalletAccount, Wire
from keystead.organizations.attachments import Attachment
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Change, Organization
from keystead.organizations.principals import Principal

ResultT = TypeVar("ResultT", bound=Wire, covariant=True)


class Outcome(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """What an execution yields: its result, the changes it asks for, rows beside the organization.

    `derived` are the accounts whose derivation an app proof can attest.
    """

    result: ResultT
    changes: tuple[Change, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    derived: tuple[WalletAccount, ...] = ()


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution may look at and use. It writes nothing."""

    organization: Organization
    caller: Principal
    now_ms: int
    limits: Limits
    signer: Signer
    new_id: Callable[[], str]


Execute = Callable[[Execution, Any], Outcome[Wire] | Awaitable[Outcome[Wire]]]


class IntentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an activity type: what its parameters are, and how they read as the current version's."""

    activity_type: str
    intent: type[Asked]
    result_key: str
    upgrade: Callable[[Any], Asked]
    decoder: Decoder

    @property
    def intent_key(self) -> str:
        return wire_key(self.intent)


class ActivityOperation(Operation, frozen=True, kw_only=True):
    """An operation that submits an activity.

    `resource` and `action` are what policies call it. `owner` gives the user whose own credentials the intent
    changes, for the default right over them.
    """

    kind: ClassVar[Kind] = "submit"

    versions: tuple[IntentVersion, ...]
    result: type[Wire]
    resource: str
    action: str
    execute: Execute
    owner: Callable[[Any], str] | None = None

    @property
    def activity_kind(self) -> str:
        return activity_kind(self.versions[0].activity_type)

    def version_of(self, activity_type: str) -> IntentVersion | None:
        return next((version for version in self.versions if version.activity_type == activity_type), None)


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity on record. `request` is the exact body that was submitted; `result` maps its key to its JSON."""

    id: str
    organization_id: str
    type: str
    status: ActivityStatus
    fingerprint: str
    request: bytes
    result: dict[str, msgspec.Raw]
    votes: tuple[Vote, ...]
    app_proofs: tuple[AppProof, ...]
    failure: Status | None
    created_at_ms: int
    updated_at_ms: int
