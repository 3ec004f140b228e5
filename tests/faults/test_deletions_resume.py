"""A server that is killed between the steps of a deletion: nobody sees the deleted again, and the rest goes."""

from __future__ import annotations

from tests.conftest import StartServer
from tests.server.test_checking import checked
from tests.support.databases import wait_for_deletions
from tests.support.servers import Installation

ACCOUNTS_AT_ONCE, TIMES = 1_000, 4


def accounts(first: int) -> list[dict[str, str]]:
    kind = {"curve": "CURVE_ED25519", "pathFormat": "PATH_FORMAT_BIP32", "addressFormat": "ADDRESS_FORMAT_SOLANA"}
    return [{**kind, "path": f"m/44'/501'/{index}'"} for index in range(first, first + ACCOUNTS_AT_ONCE)]


def test_killed_while_the_rows_of_a_wallet_go(installation: Installation, start: StartServer) -> None:
    database, left = installation.database, 0
    server = start(installation)
    kept = server.caller.result("create_wallet", {"walletName": "Kept", "accounts": accounts(0)[:3]})
    for attempt in range(5):
        name = f"Gone {attempt}"
        wallet_id = server.caller.result("create_wallet", {"walletName": name, "accounts": []})["walletId"]
        for index in range(TIMES):
            params = {"walletId": wallet_id, "accounts": accounts(index * ACCOUNTS_AT_ONCE)}
            server.caller.submitted("create_wallet_accounts", params)
        server.caller.submitted("delete_wallets", {"walletIds": [wallet_id], "deleteWithoutExport": True})
        server.kill()
        left = database.counts()["wallet_account"] - 3
        server.start()
        listed = server.caller.asked("list_wallet_accounts")["accounts"]
        assert [one["address"] for one in listed] == kept["addresses"]
        wait_for_deletions(database)
        assert database.counts()["wallet_account"] == 3
        if left:
            break
    assert left, "the server was never killed before the end"
    problems, _ = checked(database, installation.master_key)
    assert problems == []
