"""The services and settings of this process that the steps of the pipeline use. Not here: the steps."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from keystead.api.catalogue import Catalogue
from keystead.api.enums import ActivityStatus
from keystead.organizations.contacts.outgoing_messages import MessageSettings
from keystead.organizations.credentials.published_keys import NO_PUBLISHED_KEYS, PublishedKeys
from keystead.organizations.limits import Limits
from keystead.organizations.webhooks.webhooks import WebhookSettings
from keystead.pipeline.context import SigningCache, TransactionSettings
from keystead.pipeline.policy_set_cache import PolicySetCache
from keystead.pipeline.ports import OAuth2, ServerClock
from keystead.pipeline.signer_port import Signer
from keystead.pipeline.store import Store
from keystead.pipeline.submission import Liveness
from keystead.primitives.share import Share


class PipelineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for the pipeline. `approvals_last_ms`: how long an approval counts, in milliseconds.
    `refuse_raw_payloads`: raw payloads are refused if a policy of the organization reads transactions, and MFA
    policies that read transactions apply to them. `published_keys`: those that nobody may register."""

    limits: Limits
    liveness: Liveness
    transactions: TransactionSettings = TransactionSettings()
    approvals_last_ms: int = 24 * 3_600_000
    refuse_raw_payloads: bool = False
    messages: MessageSettings = MessageSettings()
    webhooks: WebhookSettings = WebhookSettings()
    published_keys: PublishedKeys = NO_PUBLISHED_KEYS


ChosenStatus = Callable[[str, str], ActivityStatus | None]
"""The status that a developer chose for new activities of this type and fingerprint, if any."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The services and settings of this process.

    `new_id`: returns a new UUID; a later one is greater as text. `chosen_status`: the choices of developers, on a
    development server; None on any other.
    """

    store: Store
    signer: Signer
    oauth2: OAuth2
    clock: ServerClock
    new_id: Callable[[], str]
    catalogue: Catalogue
    settings: PipelineSettings
    signing_cache: SigningCache
    policy_sets: PolicySetCache
    chosen_status: ChosenStatus | None = None
    share: Share = msgspec.field(default_factory=Share)
