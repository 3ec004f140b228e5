"""The input and output of an execution.

Here: the values. Not here: the step that executes (`execution`), the functions of the operations (`operations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from keystead.api.errors import ServiceError
from keystead.api.records import WalletAccount, Wire
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.contacts.outgoing_messages import MessageSettings
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Change, Organization
from keystead.organizations.webhooks.webhooks import WebhookSettings
from keystead.pipeline.activity import Proof
from keystead.pipeline.ports import OAuth2
from keystead.pipeline.signer_port import Signer
from keystead.primitives.share import Share

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


class Output(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """The output of an execution: its result, the changes that it asks for, the rows beside the organization.

    `recorded_result` replaces a result that holds a secret in the database; the submitter gets the secret once,
    in the answer. `begun_by`: the id of the credential that begins the sessions among the changes. `derived` are
    the accounts whose derivation an app proof can attest. `new_organization` is another organization that the
    activity creates.
    """

    result: ResultT
    recorded_result: ResultT | None = None
    changes: tuple[Change, ...] = ()
    begun_by: str = ""
    attachments: tuple[Attachment, ...] = ()
    derived: tuple[WalletAccount, ...] = ()
    new_organization: NewOrganization | None = None


class OutputWithoutChanges(Output[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """The output of an execution that changes no record of the organization, such as a signature.

    Submissions of an operation that always returns it do not queue.
    """

    changes: tuple[()] = ()
    attachments: tuple[VersionedRow, ...] = ()


class ComputedOutput(msgspec.Struct, frozen=True):
    """The output of an earlier attempt at the same request, and the context that it was computed from."""

    context: Any
    output: Output[Wire]


class RefusalWithRows(msgspec.Struct, frozen=True, kw_only=True):
    """The output of an execution that is refused and still writes rows.

    `rows` are written first, for example the count of wrong attempts at a code; then the caller gets `error`.
    A refusal that writes nothing is raised instead.
    """

    error: ServiceError
    rows: tuple[VersionedRow, ...]


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """What the function of an operation may read and use. An execution writes nothing.

    `submission`: what the stamp of the request proved; None for an activity of the operator.
    """

    organization: Organization
    submitter_id: str
    submission: Proof | None
    now_ms: int
    limits: Limits
    messages: MessageSettings
    webhooks: WebhookSettings
    signer: Signer
    new_id: Callable[[], str]
    share: Share

    @property
    def stamped_with(self) -> str:
        """The id of the record of the credential that stamped the request."""
        return "" if self.submission is None else self.submission.record_id

    @property
    def origin(self) -> str:
        """The id of the credential that began the session which stamped the request, or that stamped it itself."""
        return "" if self.submission is None else self.submission.origin or self.submission.record_id

    @property
    def session_profile_id(self) -> str:
        """The profile of the session that stamped the request; "" if no profile limits it."""
        return "" if self.submission is None else self.submission.session_profile_id

    @property
    def identities(self) -> Mapping[str, ProvenIdentity]:
        """What the request's ID tokens proved when it was submitted, by field."""
        return {} if self.submission is None else self.submission.identities


class ExecutionWith(Execution, Generic[ContextT], frozen=True, kw_only=True):
    """An execution with the result of its operation's `load_context` function."""

    context: ContextT


class ExecutionWithOAuth2(ExecutionWith[ContextT], Generic[ContextT], frozen=True, kw_only=True):
    """An execution that may wait for a provider of OAuth 2.0."""

    oauth2: OAuth2
