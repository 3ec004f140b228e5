"""The measured operations, each with the organization that its requests go to.

Here: the fields of each request. Not here: their bytes (`stamping`), the organizations (`organizations`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bench.ethereum import ABI, token_transfer
from bench.organizations import (
    ETHEREUM_ACCOUNT,
    OfTen,
    Organization,
    Recorded,
    Setup,
    Signing,
    Tagged,
    empty,
    of_hundred_policies,
    of_hundred_thousand_activities,
    of_ten,
    of_thousand_activities,
    root_user,
    that_signs_by_many_keys,
    that_signs_payloads,
    that_signs_payloads_under_a_control,
    that_signs_transactions,
    that_signs_transactions_under_a_control,
)
from keystead.stamps.signing import generate_api_key

Fields = Mapping[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An operation, requested of the organization that `setup` makes.

    `fields` returns the fields of a request; those of submissions differ each time. `smaller` makes the
    organization that the first one is compared with. `everywhere`: also measured on all cores and among many
    organizations. `on_all_cores`: also measured on all cores, in the database with few organizations alone.
    """

    name: str
    path: str
    setup: Setup
    fields: Callable[[Any], Fields]
    smaller: Setup | None = None
    everywhere: bool = False
    on_all_cores: bool = False

    @property
    def setups(self) -> Sequence[Setup]:
        return (self.setup,) if self.smaller is None else (self.setup, self.smaller)


def _nothing(_: Organization) -> Fields:
    return {}


def _authenticator(organization: OfTen) -> Fields:
    return {"authenticatorId": organization.authenticator_id}


def _interface(_: Organization) -> Fields:
    return {
        "parameters": {
            "smartContractAddress": f"0x{secrets.token_hex(20)}",
            "smartContractInterface": ABI,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
            "label": "A contract",
        }
    }


def _renaming(organization: Tagged) -> Fields:
    return {
        "parameters": {
            "userTagId": organization.tag_id,
            "newUserTagName": f"Desk {secrets.token_hex(8)}",
            "addUserIds": [],
            "removeUserIds": [],
        }
    }


def _page(organization: Recorded) -> dict[str, Any]:
    return {"paginationOptions": {"limit": "10", "after": secrets.choice(organization.cursors)}}


def _page_of_status(organization: Recorded) -> Fields:
    return {**_page(organization), "filterByStatus": ["ACTIVITY_STATUS_COMPLETED"]}


def _page_of_types(organization: Recorded) -> Fields:
    return {
        **_page(organization),
        "filterByStatus": ["ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_FAILED"],
        "filterByType": ["ACTIVITY_TYPE_CREATE_WALLET", "ACTIVITY_TYPE_CREATE_USER_TAG"],
    }


def _payload(organization: Signing) -> Fields:
    return {
        "parameters": {
            "signWith": secrets.choice(organization.addresses),
            "payload": secrets.token_hex(32),
            "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
            "hashFunction": "HASH_FUNCTION_NO_OP",
        }
    }


def _transaction(organization: Signing) -> Fields:
    return {
        "parameters": {
            "signWith": secrets.choice(organization.addresses),
            "unsignedTransaction": token_transfer().hex(),
            "type": "TRANSACTION_TYPE_ETHEREUM",
        }
    }


def _wallet(_: Organization) -> Fields:
    return {"parameters": {"walletName": f"Wallet {secrets.token_hex(8)}", "accounts": [ETHEREUM_ACCOUNT]}}


def _sign_up(_: Organization) -> Fields:
    key = generate_api_key()
    name = f"Person {key.public_key[-8:]}"
    return {
        "parameters": {
            "subOrganizationName": name,
            "rootUsers": [root_user(key) | {"userName": name}],
            "rootQuorumThreshold": 1,
            "wallet": {"walletName": "Savings", "accounts": [ETHEREUM_ACCOUNT]},
        }
    }


def _of_first(name: str, path: str, fields: Callable[[Any], Fields]) -> Case:
    return Case(name=name, path=path, setup=of_ten, fields=fields, everywhere=True)


def _of_record(name: str, fields: Callable[[Recorded], Fields]) -> Case:
    return Case(
        name=name,
        path="query/list_activities",
        setup=of_hundred_thousand_activities,
        fields=fields,
        smaller=of_thousand_activities,
    )


LIST_WALLETS = _of_first("list_wallets", "query/list_wallets", _nothing)
CREATE_INTERFACE = _of_first(
    "create_smart_contract_interface", "submit/create_smart_contract_interface", _interface
)
UPDATE_TAG = Case(
    name="update_user_tag", path="submit/update_user_tag", setup=of_hundred_policies, fields=_renaming
)
SIGN_RAW_PAYLOAD = Case(
    name="sign_raw_payload", path="submit/sign_raw_payload", setup=that_signs_payloads, fields=_payload
)
SIGN_BY_MANY_KEYS = Case(
    name="sign_raw_payload by 10,000 keys",
    path="submit/sign_raw_payload",
    setup=that_signs_by_many_keys,
    fields=_payload,
)
SIGN_TRANSACTION = Case(
    name="sign_transaction", path="submit/sign_transaction", setup=that_signs_transactions, fields=_transaction
)
UNDER_CONTROLS = (
    Case(
        name="sign_raw_payload under a velocity control",
        path="submit/sign_raw_payload",
        setup=that_signs_payloads_under_a_control,
        fields=_payload,
        smaller=that_signs_payloads,
    ),
    Case(
        name="sign_transaction under a velocity control",
        path="submit/sign_transaction",
        setup=that_signs_transactions_under_a_control,
        fields=_transaction,
        smaller=that_signs_transactions,
    ),
)
"""Each in turns with the same without a control."""
CREATE_WALLET = Case(name="create_wallet", path="submit/create_wallet", setup=empty, fields=_wallet)
SIGN_UP = Case(
    name="create_sub_organization",
    path="submit/create_sub_organization",
    setup=of_ten,
    fields=_sign_up,
    on_all_cores=True,
)
CASES = {
    case.name: case
    for case in (
        LIST_WALLETS,
        _of_first("list_users", "query/list_users", _nothing),
        _of_first("get_authenticator", "query/get_authenticator", _authenticator),
        _of_first("whoami", "query/whoami", _nothing),
        CREATE_INTERFACE,
        UPDATE_TAG,
        _of_record("list_activities", _page),
        _of_record("list_activities by status", _page_of_status),
        _of_record("list_activities by type and status", _page_of_types),
        SIGN_RAW_PAYLOAD,
        SIGN_BY_MANY_KEYS,
        SIGN_TRANSACTION,
        *UNDER_CONTROLS,
        CREATE_WALLET,
        SIGN_UP,
    )
}
