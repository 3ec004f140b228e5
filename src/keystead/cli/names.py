"""Reads from the server what the ids and contracts in activities stand for: only those that the activities
mention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from keystead.api.catalogue import activity_kind
from keystead.api.enums import SmartContractInterfaceType
from keystead.api.errors import ServiceError
from keystead.chains.addresses.comparison import address_key
from keystead.chains.contract_interfaces import ParsedInterface, read_interface
from keystead.cli.columns import JsonRecord
from keystead.client.client import Client
from keystead.client.errors import NotFound, NotImplementedByServer
from keystead.describe.activity import intent_of, mentioned_ids, transaction_of
from keystead.describe.description import Names

_SOURCES: Final = (
    ("list_users", "users", "userId", "userName"),
    ("list_user_tags", "userTags", "tagId", "tagName"),
    ("list_policies", "policies", "policyId", "policyName"),
    ("list_wallets", "wallets", "walletId", "walletName"),
    ("list_private_keys", "privateKeys", "privateKeyId", "privateKeyName"),
    ("list_private_key_tags", "privateKeyTags", "tagId", "tagName"),
)
"""Query, member of its answer, and of each record there: the members with its id and name."""

_CHANGE_POLICIES: Final = frozenset({"UPDATE_POLICY", "DELETE_POLICY", "DELETE_POLICIES"})


def names_in(client: Client, activities: Iterable[JsonRecord]) -> Names:
    """The names of what the activities mention. Raises KeysteadError."""
    activities = list(activities)
    wanted = {mentioned for activity in activities for mentioned in mentioned_ids(intent_of(activity))}
    of_ids: dict[str, str] = {}
    policies: dict[str, JsonRecord] = {}
    if any(activity_kind(activity["type"]) in _CHANGE_POLICIES for activity in activities):
        policies = {policy["policyId"]: policy for policy in _read_list(client, "list_policies", "policies")}
        of_ids |= {id_: policy["policyName"] for id_, policy in policies.items() if id_ in wanted}
    for query, member, id_name, name in _SOURCES:
        if wanted <= of_ids.keys():
            break
        if query != "list_policies" or not policies:
            of_ids |= {
                record[id_name]: record[name]
                for record in _read_list(client, query, member)
                if record[id_name] in wanted
            }
    contracts = {contract for activity in activities for contract in _contracts(activity)}
    return Names(of_ids=of_ids, policies=policies, interfaces=_interfaces(client, contracts))


def _contracts(activity: JsonRecord) -> tuple[str, ...]:
    try:
        view = transaction_of(activity)
    except ServiceError:
        return ()  # the description of the activity says why it cannot be read
    return view.contracts if view else ()


def _interfaces(client: Client, contracts: set[str]) -> dict[str, ParsedInterface]:
    if not contracts:
        return {}
    by_key = {address_key(contract): contract for contract in contracts}
    interfaces = _read_list(client, "list_smart_contract_interfaces", "smartContractInterfaces")
    return {
        by_key[key]: read_interface(
            SmartContractInterfaceType(interface["type"]), interface["smartContractInterface"]
        )
        for interface in interfaces
        if (key := address_key(interface["smartContractAddress"])) in by_key
    }


def _read_list(client: Client, query: str, member: str) -> list[JsonRecord]:
    """The records of a list; none if the server does not know the query."""
    try:
        records: list[JsonRecord] = client.query(query)[member]
    except (NotFound, NotImplementedByServer):
        return []
    return records
