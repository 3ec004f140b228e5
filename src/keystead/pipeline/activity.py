"""An activity as it is kept, what it is made of, and what one execution needs and yields.

Here: the values. Not here: how an activity moves (`lifecycle`), how it reads on the wire (`view`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from keystead.api.catalogue import Kind, Operation, wire_key
from keystead.api.decoding import Decoder
from keystead.api.enums import ActivityStatus, CredentialType, VoteSelection
from keystead.api.errors import ServiceError
from keystead.api.parameters import RequestStruct
from keystead.api.records import AppProof, Status, Vote, WalletAccount, Wire
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.limits import Limits
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Change, Organization
from keystead.organizations.outgoing_messages import MessageRules
from keystead.pipeline.context import ContextSource
from keystead.pipeline.ports import OAuth2, Signer
from keystead.policies.request import ResourceKeywords

ResultT = TypeVar("ResultT", bound=Wire, covariant=True)
ContextT = TypeVar("ContextT")


class NewOrganization(msgspec.Struct, frozen=True):
    """An organization to be made, and the rows beside it.

    `shares_credentials`: its users may have public keys and credential ids that other sub-organizations of the
    parent have.
    """

    organization: Organization
    attachments: tuple[Attachment, ...] = ()
    shares_credentials: bool = False


class Outcome(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """What an execution yields: its result, the changes it asks for, rows beside the organization.

    `recorded_result`: what is kept of a result with a secret in it; the submitter gets the secret once, in the
    answer. `derived` are the accounts whose derivation an app proof can attest; `new_organization` is another
    organization that the activity makes.
    """

    result: ResultT
    recorded_result: ResultT | None = None
    changes: tuple[Change, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    derived: tuple[WalletAccount, ...] = ()
    new_organization: NewOrganization | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The other thing that an execution may yield: it is refused, and yet something is written.

    `error` is what the caller gets, once `rows` are durable; the count of wrong attempts at a code, for example.
    A refusal that writes nothing is raised instead.
    """

    error: ServiceError
    rows: tuple[VersionedRow, ...]


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """What an execution may look at and use. It writes nothing.

    `identities` are those that the request's ID tokens proved when it was submitted, by field.
    `stamped_with`: the id of the credential's record that stamped the request. `session_profile_id`: of the session
    that the request was stamped with, "" where none limits it.
    """

    organization: Organization
    submitter_id: str
    stamped_with: str
    session_profile_id: str
    identities: Mapping[str, ProvenIdentity]
    now_ms: int
    limits: Limits
    messages: MessageRules
    signer: Signer
    oauth2: OAuth2
    new_id: Callable[[], str]


class ExecutionWith(Execution, Generic[ContextT], frozen=True, kw_only=True):
    """An execution that also sees what its operation's `load_context` function found."""

    context: ContextT


THE_SUBMITTER: Final = ""
"""An activity's owner, where that is whoever submits it."""

Execute = Callable[[Any, Any], Outcome[Wire] | Refusal | Awaitable[Outcome[Wire] | Refusal]]
LoadContext = Callable[[ContextSource, Any], Awaitable[Any]]
Resources = Callable[[Organization, Any, Any], ResourceKeywords]
Precondition = Callable[[str, Any], None]
UserLookup = Callable[[Any], Lookup | None]
OidcTokens = Callable[[Any], Mapping[str, str]]


class IntentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an activity type: what its parameters are, and how they read as the current version's.

    `result` makes this version's result of the current one's; None where they are the same.
    """

    activity_type: str
    intent: type[RequestStruct]
    result_key: str
    upgrade: Callable[[Any], RequestStruct]
    decoder: Decoder
    result: Callable[[Any], Wire] | None = None

    @property
    def intent_key(self) -> str:
        return wire_key(self.intent)


class ActivityOperation(Operation, frozen=True, kw_only=True):
    """An operation that submits an activity.

    `owner` gives the user whose own credentials or session the intent is about, for the default right over them;
    THE_SUBMITTER where it names nobody. `vote`: the vote that it is, on another activity; such an operation
    executes nothing. `changes_organization` is False where no execution ever does: then submissions do not queue.
    `by_parent`: a user of the parent may submit it to a
    sub-organization, as the parent's policies allow; where it names the parent, `user_lookup` of the intent tells
    by what the sub-organization of the user that it is about is found (unproven: the execution proves it).

    The others take an intent of the current version. `oidc_tokens` gives its ID tokens by field; they are verified
    once, when it is submitted. `precondition` refuses a new submission, by its submitter's id, before anything else
    is asked. `load_context` looks up, before every decision, what `resources` and the execution need beyond the
    organization; where it reads rows of the organization itself (`context_is_own`), the commits before the activity
    are durable first. `resources` gives the keywords besides `activity` that policies see, from the organization,
    the intent and the context (None without `load_context`).
    """

    kind: ClassVar[Kind] = "submit"

    versions: tuple[IntentVersion, ...]
    result: type[Wire]
    execute: Execute
    owner: Callable[[Any], str] | None = None
    vote: VoteSelection | None = None
    by_parent: bool = False
    user_lookup: UserLookup | None = None
    changes_organization: bool = True
    load_context: LoadContext | None = None
    context_is_own: bool = True
    resources: Resources | None = None
    precondition: Precondition | None = None
    oidc_tokens: OidcTokens | None = None

    def version_of(self, activity_type: str) -> IntentVersion | None:
        for version in self.versions:
            if version.activity_type == activity_type:
                return version
        return None


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A credential with which a user stamped an approval: `record_id` of the API key or authenticator.

    `credential_id` is that of a passkey, "" for an API key; `fingerprint` that of the request that was stamped.
    `registered_at_ms`: when the credential was registered. `session_profile_id`: of a session's key under a
    profile. `identities` are what the ID tokens in that request proved when it came, by field.
    """

    user_id: str
    record_id: str
    type: CredentialType
    public_key: str
    credential_id: str
    at_ms: int
    registered_at_ms: int
    fingerprint: str = ""
    session_profile_id: str = ""
    identities: Mapping[str, ProvenIdentity] = {}


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity on record.

    `request` is the exact body that was submitted, by the user `submitter_id`; `result` maps its key to its JSON.
    Approvals cast before `approvals_since_ms` have lapsed. `revision` counts the changes since it was made.
    """

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
    submitter_id: str
    proofs: tuple[Proof, ...]
    approvals_since_ms: int
    revision: int
    created_at_ms: int
    updated_at_ms: int

    @property
    def identities(self) -> Mapping[str, ProvenIdentity]:
        """What the ID tokens in its request proved, by field: the first proof is that of the submission."""
        return self.proofs[0].identities if self.proofs else {}

    @property
    def stamped_with(self) -> str:
        """The id of the credential's record that stamped its request."""
        return self.proofs[0].record_id if self.proofs else ""

    @property
    def session_profile_id(self) -> str:
        """Of the session that it was submitted with; "" where none limits it."""
        return self.proofs[0].session_profile_id if self.proofs else ""
