"""Descriptions of activities for people: a query of our own, for pages and tools that show them before a vote.

Here: the names of the records that a description mentions. Not here: the descriptions (`keystead.describe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, TransactionType
from keystead.api.errors import ServiceError
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest
from keystead.api.records import Wire
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.describe.activity import describe_activity, intent_of, mentioned_ids, transaction_of
from keystead.describe.description import ActivityDescription, Names
from keystead.operations.activities import recorded_bytes, shown_activity
from keystead.operations.declare import Reading, query
from keystead.operations.missing_approvals import MissingApprovals, missing_approvals
from keystead.operations.own_addresses import with_holders
from keystead.operations.wallets.signing import interfaces_of
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.context import ContextSource
from keystead.primitives.share import Work

DESCRIBED_AT_ONCE: Final = 50
"""Most activities of one request."""

DESCRIBED_BYTES_MAX: Final = 1_048_576
"""Activities beyond this many bytes of requests, votes and results are left out of the answer."""

FACT_CHARACTERS_MAX: Final = 10_000
"""A longer text of a fact is cut."""


class DescribeActivitiesRequest(QueryRequest, frozen=True):
    activity_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=DESCRIBED_AT_ONCE)]


class DescribedFact(Wire, frozen=True):
    """`text` may have several lines. It may hold what other people typed."""

    label: str
    text: str


class DescribedActivity(Wire, frozen=True):
    """One activity in words.

    - `headline` is a sentence without a full stop. `what` says the same in a few words.
    - `recipient` is the address that is paid or called. `amount` is what is paid, with its unit. Each is "" if the
      activity has no such value, or several.
    - `cautions` say what a reader easily overlooks.
    - `missing_approvals` are the ways in which an activity that waits could be allowed.
    """

    activity_id: str
    headline: str
    what: str
    recipient: str
    amount: str
    facts: tuple[DescribedFact, ...]
    cautions: tuple[str, ...]
    missing_approvals: tuple[MissingApprovals, ...] = ()


class DescribeActivitiesResponse(Wire, frozen=True):
    """In the order of the request. Activities that do not exist or would make the answer too large are left out."""

    activity_descriptions: tuple[DescribedActivity, ...]


@query()
async def describe_activities(reading: Reading, request: DescribeActivitiesRequest) -> DescribeActivitiesResponse:
    """What activities ask, in words."""
    described: list[DescribedActivity] = []
    size = 0
    for activity_id in dict.fromkeys(request.activity_ids):
        activity = await reading.store.activities.get(reading.organization.id, activity_id)
        if activity is None:
            continue
        size += recorded_bytes(activity)
        if described and size > DESCRIBED_BYTES_MAX:
            break
        described.append(await _describe(reading, activity))
    return DescribeActivitiesResponse(activity_descriptions=tuple(described))


async def _describe(reading: Reading, activity: RecordedActivity) -> DescribedActivity:
    seen: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(await shown_activity(reading, activity)))
    names = Names(
        of_ids=_names(reading.organization, mentioned_ids(intent_of(seen))),
        policies=_policies(reading.organization, seen),
        interfaces=await _interfaces(reading, seen),
    )
    description = await reading.environment.share.run(
        reading.organization.id, Work.TRANSACTION, lambda: describe_activity(seen, names)
    )
    description = replace(description, facts=await with_holders(reading, description.facts))
    return replace(
        _described_activity(activity.id, description), missing_approvals=await _missing_approvals(reading, activity)
    )


async def _missing_approvals(reading: Reading, activity: RecordedActivity) -> tuple[MissingApprovals, ...]:
    if activity.status is not ActivityStatus.CONSENSUS_NEEDED:
        return ()
    basis = await reading.open_activities.basis_of(activity, reading.organization)
    return await reading.environment.share.run(
        reading.organization.id, Work.DECISION, lambda: missing_approvals(basis)
    )


def _described_activity(activity_id: str, description: ActivityDescription) -> DescribedActivity:
    return DescribedActivity(
        activity_id=activity_id,
        headline=_cut(description.headline),
        what=_cut(description.what),
        recipient=description.recipient,
        amount=description.amount,
        facts=tuple(DescribedFact(label=_cut(fact.label), text=_cut(fact.text)) for fact in description.facts),
        cautions=tuple(map(_cut, description.cautions)),
    )


def _cut(text: str) -> str:
    return text if len(text) <= FACT_CHARACTERS_MAX else f"{text[:FACT_CHARACTERS_MAX]}…"


def _names(organization: Organization, ids: set[str]) -> dict[str, str]:
    """The names of the organization's records with these ids."""
    named: dict[str, str] = {}
    for id_ in ids:
        if (user := organization.users.get(id_)) is not None:
            named[id_] = user.user_name
        elif (tag := organization.tags.get(id_)) is not None:
            named[id_] = tag.tag_name
        elif (policy := organization.policies.get(id_)) is not None:
            named[id_] = policy.policy_name
        elif (wallet := organization.wallets.get(id_)) is not None:
            named[id_] = wallet.wallet_name
        elif (private_key := organization.private_keys.get(id_)) is not None:
            named[id_] = private_key.private_key_name
        elif (secret := organization.of(Secrets).get(id_)) is not None and secret.name:
            named[id_] = secret.name
    return named


def _policies(organization: Organization, activity: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The policies that the activity names, as the API shows them."""
    return {
        id_: msgspec.to_builtins(policy)
        for id_ in mentioned_ids(intent_of(activity))
        if (policy := organization.policies.get(id_)) is not None
    }


async def _interfaces(reading: Reading, activity: Mapping[str, Any]) -> Mapping[str, ParsedInterface]:
    """The interfaces on record of the contracts that the activity's transaction calls."""
    environment = reading.environment
    try:
        view = await environment.share.run(
            reading.organization.id, Work.TRANSACTION, lambda: transaction_of(activity)
        )
    except ServiceError:
        return {}  # its description says why it cannot be read
    if view is None:
        return {}
    source = ContextSource(
        organization=reading.organization,
        submitter_id=reading.caller.user.user_id,
        store=reading.store,
        transactions=environment.settings.transactions,
        cache=environment.signing_cache,
        share=environment.share,
    )
    return await interfaces_of(source, TransactionType(intent_of(activity)["type"]), view.contracts)
