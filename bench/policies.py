"""Policies like those of real organizations: who may do what, allowed recipients, times, and denials.

Here: their expressions, of the documented kinds. Not here: their organizations (`organizations`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

Policy = dict[str, Any]
"""A policy with the names of the API."""

_DENIES_EVERY = 12


class People(msgspec.Struct, frozen=True):
    """The ids of users and tags in policies. The user who sends the requests is not among them and has none of the
    tags."""

    user_ids: Sequence[str]
    tag_ids: Sequence[str]


def has_tag(tag_id: str) -> str:
    return f"approvers.any(user, user.tags.contains('{tag_id}'))"


def is_user(user_id: str) -> str:
    return f"approvers.any(user, user.id == '{user_id}')"


def allowing(consensus: str, condition: str) -> Policy:
    return _policy("The one that allows", "EFFECT_ALLOW", {"consensus": consensus, "condition": condition})


def among_others(decisive: Policy, people: People, count: int) -> list[Policy]:
    """This number of policies, with `decisive` in their middle. The others do not apply to the activities that it
    allows."""
    others = [_other(number, people) for number in range(count - 1)]
    return [*others[: count // 2], decisive, *others[count // 2 :]]


def _other(number: int, people: People) -> Policy:
    if number % _DENIES_EVERY == _DENIES_EVERY - 1:
        return _policy(f"Policy {number}", "EFFECT_DENY", _denial(number, people))
    permissions = _permissions(number, people)
    return _policy(f"Policy {number}", "EFFECT_ALLOW", permissions[number % len(permissions)])


def _permissions(number: int, people: People) -> Sequence[Policy]:
    address = _address(number)
    user_id = people.user_ids[number % len(people.user_ids)]
    tag_id = people.tag_ids[number % len(people.tag_ids)]
    by_user, by_tag, bound = is_user(user_id), has_tag(tag_id), (number + 1) * 10**15
    return (
        {"consensus": by_tag, "condition": f"eth.tx.to == '{address}' && eth.tx.value <= {bound}"},
        {"consensus": by_user, "condition": f"activity.action == 'SIGN' && wallet_account.address == '{address}'"},
        {"consensus": by_user, "condition": "activity.resource == 'WALLET' && activity.action == 'CREATE'"},
        {
            "condition": f"eth.tx.chain_id in [1, 10, 8453] && eth.tx.to == '{address}'"
            " && eth.tx.data[0..10] in ['0x095ea7b3', '0xa9059cbb']"
        },
        {
            "consensus": f"approvers.filter(user, user.tags.contains('{tag_id}')).count() >= 2",
            "condition": "activity.resource == 'POLICY' && activity.action in ['CREATE', 'UPDATE']",
        },
        {
            "consensus": by_tag,
            "condition": f"eth.tx.to == '{address}' && eth.tx.function_name == 'transfer'"
            f" && eth.tx.contract_call_args['_value'] < {bound}",
        },
        {
            "consensus": by_user,
            "condition": f"activity.kind == 'SIGN_RAW_PAYLOAD' && private_key.id == '{user_id}'",
            "time": f"CronSpan('{number % 60} 8 * * 1-5', '9h', 'Europe/Berlin')",
        },
        {"condition": f"solana.tx.transfers.count() == 1 && solana.tx.transfers[0].amount < {bound}"},
        {"consensus": by_tag, "condition": "activity.resource == 'USER' && activity.action == 'CREATE'"},
        {"consensus": by_user, "condition": f"activity.action == 'EXPORT' && wallet.label == 'Desk {number}'"},
    )


def _denial(number: int, people: People) -> Policy:
    denials: Sequence[Policy] = (
        {"consensus": has_tag(people.tag_ids[0]), "condition": "activity.action == 'DELETE'"},
        {"condition": "activity.resource == 'WALLET' && activity.action == 'EXPORT'"},
        {"condition": f"eth.tx.to == '{_address(number)}'"},
    )
    return denials[number // _DENIES_EVERY % len(denials)]


def _address(number: int) -> str:
    return "0x" + hashlib.sha256(number.to_bytes(4)).hexdigest()[:40]


def _policy(name: str, effect: str, clauses: Policy) -> Policy:
    return {"policyName": name, "effect": effect, "notes": "", **clauses}
