"""An activity on record with its parts, and the input and output of an execution.

Here: the values. Not here: the order of the steps (`lifecycle`), what callers see of an activity (`view`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import Kind, Operation, wire_key
from keystead.api.decoding import Decoder
from keystead.api.enums import FINAL_STATUSES, ActivityStatus, CredentialType, VoteSelection
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
from keystead.organizations.webhooks import WebhookRules
from keystead.pipeline.context import ContextSource
from keystead.pipeline.long_work import LongWork
from keystead.pipeline.ports import OAuth2
from keystead.pipeline.signer_port import Signer
from keystead.policies.request import ResourceKeywords

ResultT = TypeVar("ResultT", bound=Wire, covariant=True)
ContextT = TypeVar("ContextT")


class NewOrganization(msgspec.Struct, frozen=True):
    """An organization to create, and the rows beside it.

    `shares_credentials`: its users may have public keys and credential ids that other sub-organizations of the
    parent have.
    """

    organization: Organization
    attachments: tuple[Attachment, ...] = ()
    shares_credentials: bool = False


class ExecutionOutput(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """The output of an execution: its result, the changes that it asks for, the rows beside the organization.

    `recorded_result` replaces a result that holds a secret in the database; the submitter gets the secret once,
    in the answer. `derived` are the accounts whose derivation an app proof can attest. `new_organization` is
    another organization that the activity creates.
    """

    result: ResultT
    recorded_result: ResultT | None = None
    changes: tuple[Change, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    derived: tuple[WalletAccount, ...] = ()
    new_organization: NewOrganization | None = None


class RefusalWithRows(msgspec.Struct, frozen=True, kw_only=True):
    """The output of an execution that is refused and still writes rows.

    `rows` are written first, for example the count of wrong attempts at a code; then the caller gets `error`.
    A refusal that writes nothing is raised instead.
    """

    error: ServiceError
    rows: tuple[VersionedRow, ...]


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """What the function of an operation may read and use. An execution writes nothing.

    `identities`: what the request's ID tokens proved when it was submitted, by field. `stamped_with`: the id of the
    record of the credential that stamped the request. `session_profile_id`: the profile of the session that stamped
    it; "" if no profile limits it.
    """

    organization: Organization
    submitter_id: str
    stamped_with: str
    session_profile_id: str
    identities: Mapping[str, ProvenIdentity]
    now_ms: int
    limits: Limits
    messages: MessageRules
    webhooks: WebhookRules
    signer: Signer
    oauth2: OAuth2
    new_id: Callable[[], str]
    long_work: LongWork


class ExecutionWith(Execution, Generic[ContextT], frozen=True, kw_only=True):
    """An execution with the result of its operation's `load_context` function."""

    context: ContextT


THE_SUBMITTER: Final = ""
"""What `owner` returns for the user who submits the activity."""

Execute = Callable[
    [Any, Any], ExecutionOutput[Wire] | RefusalWithRows | Awaitable[ExecutionOutput[Wire] | RefusalWithRows]
]
LoadContext = Callable[[ContextSource, Any], Awaitable[Any]]
Resources = Callable[[Organization, Any, Any], ResourceKeywords]
Precondition = Callable[[str, Any], None]
UserLookup = Callable[[Any], Lookup | None]
OidcTokens = Callable[[Any], Mapping[str, str]]


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


class ActivityOperation(Operation, frozen=True, kw_only=True):
    """An operation that submits an activity.

    - `owner` returns the user whose own credentials or session the intent is about. That user may do so without a
      policy. It returns THE_SUBMITTER if the intent names no user.
    - `vote`: the operation is this vote on another activity. It executes nothing.
    - `by_parent`: a user of the parent may submit it to a sub-organization, if the parent's policies allow it.
    - `user_lookup` returns the value that finds the sub-organization, if the submission names the parent. The value
      is not proven yet: the execution proves it.
    - `asks_provider`: the execution waits for a provider of OAuth 2.0.
    - `changes_organization` is False if no execution changes the organization. Then submissions do not queue.

    These functions take an intent of the current version:

    - `oidc_tokens` returns the intent's ID tokens by field. They are verified once, when it is submitted.
    - `precondition` gets the submitter's id and refuses a new submission before any policy is evaluated.
    - `load_context` runs before every decision. It looks up what `resources` and the execution need beyond the
      organization. If it reads rows of the organization itself (`context_is_own`), the commits before the activity
      are durable first.
    - `resources` returns the keywords besides `activity` that policies see, from the organization, the intent and
      the context (None without `load_context`).
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
    asks_provider: bool = False

    def version_of(self, activity_type: str) -> IntentVersion | None:
        for version in self.versions:
            if version.activity_type == activity_type:
                return version
        return None


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A credential with which a user stamped an approval.

    - `record_id`: the id of the API key, authenticator, OAuth provider or contact.
    - `credential_id`: the id of a passkey; "" for an API key.
    - `fingerprint`: the fingerprint of the stamped request.
    - `at_ms`: when the approval was given. `registered_at_ms`: when the credential was registered.
    - `session_profile_id`: the profile of the session, if the credential is the key of a session with a profile.
    - `identities`: what the ID tokens in that request proved when it arrived, by field.
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
    Approvals before `approvals_since_ms` have lapsed. `revision` counts the changes since it was created.
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

    def __repr__(self) -> str:
        # Without what was signed: it is in the votes, too.
        return f"Activity(id={self.id!r}, organization_id={self.organization_id!r}, type={self.type!r}, …)"

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
        """The profile of the session that submitted it; "" if no profile limits it."""
        return self.proofs[0].session_profile_id if self.proofs else ""

    def at(self, now_ms: int, approvals_last_ms: int) -> Activity:
        """The activity at the time `now_ms`. `approvals_last_ms`: how long an approval counts. If the approvals
        have lapsed, none of them counts."""
        if self.status in FINAL_STATUSES or now_ms < self.approvals_since_ms + approvals_last_ms:
            return self
        return replace(self, approvals_since_ms=now_ms)
