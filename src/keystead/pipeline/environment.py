"""The services and settings of this process that the steps of the pipeline use. Not here: the steps."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from keystead.api.catalogue import Catalogue
from keystead.api.enums import ActivityStatus
from keystead.organizations.limits import Limits
from keystead.organizations.outgoing_messages import MessageRules
from keystead.pipeline.authorization import AuthorizationSettings
from keystead.pipeline.context import SigningCache, TransactionRules
from keystead.pipeline.policy_sets import PolicySets
from keystead.pipeline.ports import OAuth2, ServerClock, Signer
from keystead.pipeline.requests import Liveness
from keystead.pipeline.store import Store


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for decisions.

    `approvals_last_ms`: how long an approval counts.
    """

    limits: Limits
    liveness: Liveness
    transactions: TransactionRules = TransactionRules()
    approvals_last_ms: int = 24 * 3_600_000
    authorization: AuthorizationSettings = AuthorizationSettings()
    messages: MessageRules = MessageRules()


ChosenStatus = Callable[[str, str], ActivityStatus | None]
"""The status in which a new activity of this type and fingerprint is to end, None where nobody chose one."""


def no_chosen_status(activity_type: str, fingerprint: str) -> ActivityStatus | None:  # noqa: ARG001
    """What every server but a development server uses: decisions alone lead to a status."""
    return None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`new_id` makes a new UUID. UUIDs made later are greater as text. `chosen_status`: for developers, who try how
    their application treats each status."""

    store: Store
    signer: Signer
    oauth2: OAuth2
    clock: ServerClock
    new_id: Callable[[], str]
    catalogue: Catalogue
    rules: Rules
    signing_cache: SigningCache
    policy_sets: PolicySets
    chosen_status: ChosenStatus = no_chosen_status
