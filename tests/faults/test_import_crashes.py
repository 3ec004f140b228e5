"""kill -9 during an import: the wallet is there and its target gone, or neither; sending it again is safe."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable

import httpx

from tests.support.callers import answered, unique
from tests.support.load import integrity
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, create_records
from tests.support.servers import Installation, Server

PATH = "/public/v1/submit/import_wallet"


def test_kill_while_importing(installation: Installation, start: Callable[..., Server]) -> None:
    chance = random.Random(7)
    server = start(installation)
    fresh = create_records(server.caller).fresh
    for _ in range(3):
        caller, name = server.caller, unique("imported")
        body = caller.submit_body(
            "import_wallet",
            {
                "userId": caller.user_id,
                "walletName": name,
                "encryptedBundle": fresh("sealed_mnemonic"),
                "accounts": [ETHEREUM_ACCOUNT],
            },
        )
        before = len(installation.database.organization(installation.organization_id).import_targets)

        def send(body: bytes = body) -> None:
            with contextlib.suppress(httpx.TransportError):  # killed before it answered, as it was meant to be
                server.caller.post(PATH, body)

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(chance.uniform(0, 0.03))
        server.kill()
        sending.join()
        organization = installation.database.organization(installation.organization_id)
        is_there = name in {wallet.wallet_name for wallet in organization.wallets.values()}
        assert len(organization.import_targets) == before - is_there
        server.start()
        done, again = (answered(server.caller.post(PATH, body))["activity"] for _ in range(2))
        assert (done["status"], done["id"]) == ("ACTIVITY_STATUS_COMPLETED", again["id"])
        organization = installation.database.organization(installation.organization_id)
        assert [wallet.wallet_name for wallet in organization.wallets.values()].count(name) == 1
        assert len(organization.import_targets) == before - 1
    assert integrity(installation.database) == [("ok",)]
