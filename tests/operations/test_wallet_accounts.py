"""Accounts of wallets: derived as asked, found by address or by any spelling of their path, read by page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keystead.api.identifiers import new_id
from tests.support.callers import Caller, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT
from tests.support.servers import Server

MANY = [ETHEREUM_ACCOUNT | {"path": f"m/44'/60'/0'/0/{number}"} for number in range(23)]


@pytest.fixture(scope="module")
def wallet(server: Server) -> Any:
    """A wallet with 23 Ethereum accounts, then one on Solana: walletId, addresses."""
    return server.caller.result(
        "create_wallet", {"walletName": unique("wallet"), "accounts": [*MANY, SOLANA_ACCOUNT]}
    )


FOUND_BY = [
    ("its path", {"path": "m/44'/60'/0'/0/3"}, 3),
    ("its path with h", {"path": "m/44h/60H/0h/0/3"}, 3),
    ("its path with needless zeros", {"path": "m/044'/60'/0'/00/3"}, 3),
    ("a path on ed25519 as it was asked for", {"path": SOLANA_ACCOUNT["path"]}, 23),
    ("a path on ed25519 as it is derived", {"path": "m/44'/501'/0'/0'"}, 23),
]


@pytest.mark.parametrize(("name", "asked", "index"), FOUND_BY, ids=[name for name, *_ in FOUND_BY])
def test_found_by(name: str, asked: dict[str, Any], index: int, wallet: Any, caller: Caller) -> None:
    account = caller.asked("get_wallet_account", walletId=wallet["walletId"], **asked)["account"]
    assert account["address"] == wallet["addresses"][index]


def test_found_by_its_address_or_by_both(wallet: Any, caller: Caller) -> None:
    for index in (0, 23):
        address = wallet["addresses"][index]
        account = caller.asked("get_wallet_account", walletId=wallet["walletId"], address=address)["account"]
        both = caller.asked(
            "get_wallet_account", walletId=wallet["walletId"], address=address, path=account["path"]
        )
        assert account == both["account"]


MISSED: list[tuple[str, dict[str, Any], int]] = [
    ("neither", {}, 400),
    ("a text that is not a path", {"path": "m"}, 400),
    ("another path", {"path": "m/44'/60'/0'/0/99"}, 404),
    ("a path that only looks hardened on secp256k1", {"path": "m/44'/60'/0'/0'/3'"}, 404),
    ("another address", {"address": "0x" + "11" * 20}, 404),
    ("address and path of two accounts", {"address": "of the first", "path": "m/44'/60'/0'/0/3"}, 404),
]


@pytest.mark.parametrize(("name", "asked", "status"), MISSED, ids=[name for name, *_ in MISSED])
def test_missed(name: str, asked: dict[str, Any], status: int, wallet: Any, caller: Caller) -> None:
    if asked.get("address") == "of the first":
        asked = asked | {"address": wallet["addresses"][0]}
    assert refusal(caller.ask("get_wallet_account", walletId=wallet["walletId"], **asked))[0] == status


def listed(caller: Caller, wallet: Any, **options: str) -> list[str]:
    accounts = caller.asked("list_wallet_accounts", walletId=wallet["walletId"], paginationOptions=options)[
        "accounts"
    ]
    return [account["address"] for account in accounts]


def test_pages_in_order_of_creation(wallet: Any, caller: Caller) -> None:
    assert listed(caller, wallet) == wallet["addresses"][:10]
    assert listed(caller, wallet, limit="100") == wallet["addresses"]


def test_cursors(wallet: Any, caller: Caller) -> None:
    accounts = caller.asked("list_wallet_accounts", walletId=wallet["walletId"], paginationOptions={"limit": "100"})
    ids = [account["walletAccountId"] for account in accounts["accounts"]]
    assert listed(caller, wallet, after=ids[4], limit="3") == wallet["addresses"][5:8]
    assert listed(caller, wallet, before=ids[9], limit="3") == wallet["addresses"][6:9]
    assert (
        refusal(
            caller.ask("list_wallet_accounts", walletId=wallet["walletId"], paginationOptions={"after": new_id()})
        )[0]
        == 400
    )


def test_accounts_of_all_wallets(wallet: Any, caller: Caller) -> None:
    other = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]})
    found: list[Any] = []
    page = [None]
    while page:
        after = {"after": found[-1]["walletAccountId"]} if found else {}
        page = caller.asked("list_wallet_accounts", paginationOptions={"limit": "100", **after})["accounts"]
        found += page
    assert {account["walletId"] for account in found} >= {wallet["walletId"], other["walletId"]}
    assert len({account["walletAccountId"] for account in found}) == len(found)


def test_wallet_details_where_asked_for(wallet: Any, caller: Caller) -> None:
    with_details = caller.asked("list_wallet_accounts", walletId=wallet["walletId"], includeWalletDetails=True)
    details = caller.asked("get_wallet", walletId=wallet["walletId"])["wallet"]
    assert {repr(account["walletDetails"]) for account in with_details["accounts"]} == {repr(details)}
    without = caller.asked("list_wallet_accounts", walletId=wallet["walletId"])
    assert all("walletDetails" not in account for account in without["accounts"])


@pytest.mark.parametrize("query", ["get_wallet", "get_wallet_account", "list_wallet_accounts"])
def test_unknown_wallet(query: str, caller: Caller) -> None:
    fields: dict[str, Any] = {"path": "m/0"} if query == "get_wallet_account" else {}
    status, message = refusal(caller.ask(query, walletId=(unknown := new_id()), **fields))
    assert (status, unknown in message) == (404, True)


@pytest.mark.parametrize("words", [12, 15, 18, 21, 24])
def test_lengths_of_a_mnemonic(words: int, caller: Caller) -> None:
    assert caller.result("create_wallet", {"walletName": unique("w"), "accounts": [], "mnemonicLength": words})


def test_a_name_once(caller: Caller) -> None:
    parameters = {"walletName": unique("wallet"), "accounts": []}
    made = caller.result("create_wallet", parameters)
    status, message = refusal(caller.submit("create_wallet", parameters))
    assert (status, made["walletId"] in message, "`parameters.walletName`" in message) == (400, True, True)


def test_more_accounts_of_a_wallet_until_the_last_page(caller: Caller) -> None:
    """As published clients go through them: a hundred at a time, and the first shorter page is the last."""
    wallet = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": []})
    made: list[str] = []
    for start in (0, 40, 80):
        asked = [ETHEREUM_ACCOUNT | {"path": f"m/44'/60'/{start + number}'/0/0"} for number in range(40)]
        parameters = {"walletId": wallet["walletId"], "accounts": asked}
        made += caller.result("create_wallet_accounts", parameters)["addresses"]
    found: list[Any] = []
    page: list[Any] = []
    while not found or len(page) == 100:
        options = {"limit": "100"} | ({"after": found[-1]["walletAccountId"]} if found else {})
        page = caller.asked("list_wallet_accounts", walletId=wallet["walletId"], paginationOptions=options)[
            "accounts"
        ]
        found += page
    assert [account["address"] for account in found] == made
    assert found[0]["path"] == "m/44'/60'/0'/0/0"


def test_one_path_asked_for_by_many_at_once(caller: Caller) -> None:
    wallet = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": []})
    # Each with a name of its own: equal bytes within one millisecond would be one activity.
    asked = [
        {"walletId": wallet["walletId"], "accounts": [{**ETHEREUM_ACCOUNT, "name": unique("account")}]}
        for _ in range(8)
    ]
    with ThreadPoolExecutor(8) as threads:
        responses = list(threads.map(lambda one: caller.submit("create_wallet_accounts", one), asked))
    refused = [refusal(response) for response in responses if response.status_code != 200]
    assert len(refused) == 7
    assert {(status, message[:12]) for status, message in refused} == {(400, "invalid path")}
    accounts = caller.asked("list_wallet_accounts", walletId=wallet["walletId"])["accounts"]
    assert len(accounts) == 1


def test_an_address_in_another_letter_case(wallet: Any, caller: Caller) -> None:
    first = wallet["addresses"][0]
    for written in (first.lower(), first.upper()):
        account = caller.asked("get_wallet_account", walletId=wallet["walletId"], address=written)["account"]
        assert account["address"] == first
    solana = wallet["addresses"][23].swapcase()
    assert refusal(caller.ask("get_wallet_account", walletId=wallet["walletId"], address=solana))[0] == 404
