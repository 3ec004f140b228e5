"""Something is taken away, and answered, while the signer is slow: what the signer makes then reaches nobody.

Here: two services on one database, in this process, with a signer that waits until it is told to go on. Not here:
what was taken away before a request came (`test_revocation`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.callers import unique
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation
from tests.support.slow_signer import (
    OF_WALLETS,
    REVOCATIONS,
    TARGET_KEY,
    Revocation,
    SlowSigner,
    revocation_scenario,
)

SIGN, EXPORT = "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", "ACTIVITY_TYPE_EXPORT_WALLET"
ALL = [*REVOCATIONS, OF_WALLETS]


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
@pytest.mark.parametrize("revocation", ALL, ids=[one.name for one in ALL])
def test_a_signature_after_an_answered_revocation(
    revocation: Revocation,
    apart: bool,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=apart) as scenario:
            signing = asyncio.create_task(
                scenario.sent(scenario.here, scenario.ana, "sign_raw_payload", scenario.signing)
            )
            await signer.began.wait()
            await scenario.revoked(revocation.operation, revocation.parameters(scenario))
            signer.go_on.set()
            refused = await signing
            assert refused.status_code == revocation.status, refused.text
            assert await scenario.of_type(SIGN) == []
            assert signer.calls == 1

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
def test_a_signature_after_the_answered_deletion_of_its_private_key(
    apart: bool, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=apart) as scenario:
            asked = scenario.signing | {"signWith": scenario.private_key_id}
            signing = asyncio.create_task(scenario.sent(scenario.here, scenario.ana, "sign_raw_payload", asked))
            await signer.began.wait()
            deleted = {"privateKeyIds": [scenario.private_key_id], "deleteWithoutExport": True}
            await scenario.revoked("delete_private_keys", deleted)
            signer.go_on.set()
            refused = await signing
            assert refused.status_code == 404, refused.text
            assert await scenario.of_type(SIGN) == []

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@pytest.mark.parametrize("revocation", ALL, ids=[one.name for one in ALL])
def test_an_export_after_an_answered_revocation(
    revocation: Revocation, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At another server. At the same one the revocation waits for the export, and is answered after it."""

    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=True) as scenario:
            asked = {"walletId": scenario.wallet_id, "targetPublicKey": TARGET_KEY}
            exporting = asyncio.create_task(scenario.sent(scenario.here, scenario.ana, "export_wallet", asked))
            await signer.began.wait()
            await scenario.revoked(revocation.operation, revocation.parameters(scenario))
            signer.go_on.set()
            refused = await exporting
            assert refused.status_code == revocation.status, refused.text
            assert await scenario.of_type(EXPORT) == []

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@pytest.mark.parametrize("apart", [True, False], ids=["at another server", "at the same server"])
def test_a_change_that_takes_nothing_away_costs_no_second_signature(
    apart: bool, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=apart) as scenario:
            signing = asyncio.create_task(
                scenario.sent(scenario.here, scenario.ana, "sign_raw_payload", scenario.signing)
            )
            await signer.began.wait()
            for _ in range(3):
                await scenario.revoked("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
            signer.go_on.set()
            signed = await signing
            assert signed.status_code == 200, signed.text
            assert await scenario.of_type(SIGN) == ["ACTIVITY_STATUS_COMPLETED"]
            assert signer.calls == 1

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


@pytest.mark.parametrize(
    ("operation", "status", "on_record"),
    [
        ("delete_wallets", 200, "ACTIVITY_STATUS_FAILED"),
        ("delete_users", 401, "ACTIVITY_STATUS_CONSENSUS_NEEDED"),
    ],
    ids=["the wallet is deleted", "the approver is deleted"],
)
def test_an_approved_signature_after_an_answered_revocation(
    operation: str,
    status: int,
    on_record: str,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        signer = SlowSigner(monkeypatch)
        async with revocation_scenario(installation, tmp_path, apart=True) as scenario:
            waiting = await scenario.sent(scenario.here, scenario.cy, "sign_raw_payload", scenario.signing)
            assert waiting.json()["activity"]["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
            approval = {"fingerprint": waiting.json()["activity"]["fingerprint"]}
            approving = asyncio.create_task(
                scenario.sent(scenario.here, scenario.ben, "approve_activity", approval)
            )
            await signer.began.wait()
            parameters = {
                "delete_wallets": {"walletIds": [scenario.wallet_id], "deleteWithoutExport": True},
                "delete_users": {"userIds": [scenario.ben_id]},
            }
            await scenario.revoked(operation, parameters[operation])
            signer.go_on.set()
            answer = await approving
            assert answer.status_code == status, answer.text
            assert await scenario.of_type(SIGN) == [on_record]

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
