"""Descriptions of activities for people: a query of our own, for pages and tools that show them before a vote.

Here: the names of the records that a description mentions, its own addresses, and which approvals it waits for.
Not here: the descriptions (`keystead.describe`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus, TransactionType
from keystead.api.errors import ServiceError
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest
from keystead.api.records import Wire
from keystead.chains.addresses.stored_forms import possible_forms
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.describe.activity import describe_activity, intent_of, mentioned_ids, transaction_of
from keystead.describe.description import ActivityDescription, Fact, Names
from keystead.operations import bounds
from keystead.operations.activities import recorded_bytes, shown_activity
from keystead.operations.approvals_needed import Needed, approvals_needed
from keystead.operations.declare import Reading, query
from keystead.operations.wallets.signing import interfaces_of
from keystead.organizations.kinds.auth_proxies import AuthProxies
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.authorization import authorization_request
from keystead.pipeline.context import ContextSource
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.policies.authorize import Rule, authorize
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import AuthorizationRequest
from keystead.policies.resources import ROOT_ONLY
from keystead.primitives.share import Work


class MissingApprovals(Wire, frozen=True):
    """One way in which the activity could be allowed.

    - `policy_id`: the policy that waits, absent for the root quorum.
    - `user_ids`: users whose further approval counts, at most a hundred.
    - `count`: how many of them must approve; absent for a consensus that no number describes.
    - `required_user_ids`: those of them who must approve in any case, if others must, too.
    """

    user_ids: tuple[str, ...]
    policy_id: str | None = None
    count: int | None = None
    required_user_ids: tuple[str, ...] = ()


def missing_approvals(basis: DecisionBasis) -> tuple[MissingApprovals, ...]:
    """The ways that are left: at most WAYS_MAX policies in order of creation, then the root quorum.

    The search for the users whom policies count has a limit in steps. Beyond it, users and policies are left out.
    """
    request, organization = authorization_request(basis), basis.authority
    approving = {approval.user_id for approval in request.approvals}
    is_root_only = activity_kind(basis.version.activity_type) in ROOT_ONLY
    by_policies = [] if is_root_only else _by_policies(request, basis.policies.policy_set, organization, approving)
    decision = authorize(request, basis.policies.policy_set)
    if decision.rule is Rule.ADDED_CREDENTIAL and not decision.is_denial:
        # The submitter has such a credential, and approves again with that.
        by_policies = [MissingApprovals(policy_id=decision.policy_ids[0], user_ids=(request.submitter_id,))]
    return (*by_policies, *_by_root_quorum(organization.profile.root_quorum, approving))


def _by_policies(
    request: AuthorizationRequest, policy_set: PolicySet, organization: Organization, approving: Collection[str]
) -> list[MissingApprovals]:
    evaluators = [PolicyEvaluator(item, policy_set) for item in request.items()]
    if any(evaluator.denying for evaluator in evaluators):
        return []
    waiting: dict[str, PolicyEvaluator] = {}
    for evaluator in evaluators:
        for policy_id in evaluator.policies_with(EvaluationOutcome.REQUIRES_CONSENSUS):
            waiting.setdefault(policy_id, evaluator)
    ways: list[MissingApprovals] = []
    for policy in policy_set.policies:
        if len(ways) == bounds.MISSING_POLICIES_MAX:
            break
        if policy.id not in waiting:
            continue
        user_ids = _counted_users(organization, approving, waiting[policy.id], policy.consensus)
        if user_ids:
            needed = _needed(user_ids, waiting[policy.id], policy.consensus)
            ways.append(
                MissingApprovals(
                    policy_id=policy.id,
                    user_ids=user_ids,
                    count=None if needed is None else needed.count,
                    required_user_ids=() if needed is None else needed.required,
                )
            )
    return ways


def _needed(
    user_ids: Sequence[str], evaluator: PolicyEvaluator, consensus: CompiledExpression | None
) -> Needed | None:
    """How many of these users must approve; None if no number describes it, or if finding out takes too long."""
    if consensus is None:
        return None
    needed = approvals_needed(user_ids, lambda chosen: evaluator.is_met_with(consensus, chosen))
    return None if evaluator.has_no_counting_steps_left else needed


def _by_root_quorum(quorum: RootQuorum, approving: Collection[str]) -> list[MissingApprovals]:
    members = tuple(user_id for user_id in quorum.user_ids if user_id not in approving)
    count = quorum.threshold - (len(quorum.user_ids) - len(members))
    return (
        [MissingApprovals(user_ids=members[: bounds.MISSING_USERS_MAX], count=count)]
        if 0 < count <= len(members)
        else []
    )


def _counted_users(
    organization: Organization,
    approving: Collection[str],
    evaluator: PolicyEvaluator,
    consensus: CompiledExpression | None,
) -> tuple[str, ...]:
    """The first users, NAMED_MAX at most, who have not approved and whom this consensus counts.

    Nobody votes as the user of an authentication proxy: its key answers browsers' requests alone.
    """
    proxies = organization.of(AuthProxies)
    counted: list[str] = []
    for user_id in organization.users:
        if evaluator.has_no_counting_steps_left or len(counted) == bounds.MISSING_USERS_MAX:
            break
        if user_id not in approving and user_id not in proxies and evaluator.counts(consensus, user_id):
            counted.append(user_id)
    return tuple(counted)


_ADDRESS: Final = re.compile(r"[\w:-]{26,120}")


async def with_holders(reading: Reading, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts. After each fact that is an address of the organization, a fact names its wallet or private key."""
    extended: list[Fact] = []
    looked_up = 0
    for fact in facts:
        extended.append(fact)
        if looked_up < bounds.OWN_ADDRESSES_MAX and _ADDRESS.fullmatch(fact.text):
            looked_up += 1
            extended.extend(await _holder_facts(reading, fact))
    return tuple(extended)


async def _holder_facts(reading: Reading, fact: Fact) -> list[Fact]:
    organization = reading.organization
    stored = await reading.store.accounts.with_address(organization.id, fact.text)
    if stored is not None and (wallet := organization.wallets.get(stored.account.wallet_id)) is not None:
        return [Fact(f"{fact.label} wallet", repr(wallet.wallet_name))]
    for form in possible_forms(fact.text):
        if (key_id := organization.private_keys.oldest_with_address(form)) is not None:
            return [Fact(f"{fact.label} private key", repr(organization.private_keys[key_id].private_key_name))]
    return []


DESCRIBED_AT_ONCE: Final = 50
"""Most activities of one request."""


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


@query(own=True)
async def describe_activities(reading: Reading, request: DescribeActivitiesRequest) -> DescribeActivitiesResponse:
    """What activities ask, in words."""
    described: list[DescribedActivity] = []
    size = 0
    for activity_id in dict.fromkeys(request.activity_ids):
        activity = await reading.store.activities.get(reading.organization.id, activity_id)
        if activity is None:
            continue
        size += recorded_bytes(activity)
        if described and size > bounds.DESCRIBED_BYTES_MAX:
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
    return text if len(text) <= bounds.FACT_CHARACTERS_MAX else f"{text[: bounds.FACT_CHARACTERS_MAX]}…"


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
