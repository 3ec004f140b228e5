"""Named snapshots of everything stored, going back to one, and reset: of everything, or of one organization."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keystead import ActivityStatus
from keystead.api.developer_controls import FAULTS, RATE_LIMIT, RestoreUpdate, SnapshotNames, SnapshotUpdate
from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import LimitReached
from keystead.client.errors import ApiError, KeysteadError, NotFound, Unauthenticated
from keystead.client.shapes import WalletAccountParams
from keystead.server.bounds import SNAPSHOTS_MAX
from keystead.server.development.snapshots import Snapshots
from keystead.storage.open import open_store
from keystead.storage.schema import migrate
from keystead.testing import DevelopmentServer, TestOrganization

ACCOUNT = WalletAccountParams(
    curve=Curve.SECP256K1,
    path_format=PathFormat.BIP32,
    path="m/44'/60'/0'/0/0",
    address_format=AddressFormat.ETHEREUM,
)


def tags(organization: TestOrganization) -> set[str]:
    return {tag.tag_name for tag in organization.client.list_user_tags().user_tags}


def tag(organization: TestOrganization, name: str) -> None:
    organization.client.create_user_tag(user_tag_name=name, user_ids=[])


def test_there_and_back(server: DevelopmentServer, organization: TestOrganization) -> None:
    tag(organization, "one")
    server.controls.snapshot("one tag")
    tag(organization, "two")
    server.controls.snapshot("two tags")
    assert server.controls.snapshots() == ["start", "one tag", "two tags"]
    for name, expected in (("one tag", {"one"}), ("two tags", {"one", "two"}), ("one tag", {"one"})):
        server.controls.restore(name)
        assert tags(organization) == expected
    tag(organization, "three")
    tag(organization, "two")  # as if it had never been there
    assert tags(organization) == {"one", "two", "three"}
    server.controls.restore("two tags")
    assert tags(organization) == {"one", "two"}


def test_what_is_restored_works(server: DevelopmentServer, organization: TestOrganization) -> None:
    """Keys are sealed and lie beside the organization: they are part of the snapshot."""
    client = organization.client
    made = client.create_wallet(wallet_name="Treasury", accounts=[ACCOUNT])
    server.controls.snapshot("with a wallet")
    client.delete_wallets(wallet_ids=[made.wallet_id], delete_without_export=True)
    server.controls.restore("with a wallet")
    (wallet,) = client.list_wallets().wallets
    more = client.create_wallet_accounts(
        wallet_id=wallet.wallet_id,
        accounts=[
            WalletAccountParams(
                curve=Curve.SECP256K1,
                path_format=PathFormat.BIP32,
                path="m/44'/60'/0'/0/1",
                address_format=AddressFormat.ETHEREUM,
            )
        ],
    )
    assert more.activity.status == ActivityStatus.COMPLETED


def test_reset_forgets_everything(server: DevelopmentServer) -> None:
    mine = server.new_organization()
    server.controls.reset()
    with pytest.raises(KeysteadError, match="no organization found"):
        mine.client.whoami()
    tag(TestOrganization(server.client, server.credentials), "of the first organization")
    server.client.init_otp(otp_type="OTP_TYPE_EMAIL", contact="ada@example.com", app_name="Test")  # type: ignore[arg-type]
    server.outbox.wait_for("ada@example.com")
    server.controls.clock.freeze()
    server.controls.faults.fail(503, path="nothing")
    server.controls.limit_rate(1_000)
    server.controls.reset()
    assert server.client.list_user_tags().user_tags == ()
    assert server.outbox.messages() == []
    assert not server.controls.clock.is_frozen
    assert server.controls.read(FAULTS).faults == ()
    assert server.controls.read(RATE_LIMIT).per_second == 0
    assert server.client.list_wallets().wallets[0].wallet_name == "Development"


def test_reset_of_one_organization(server: DevelopmentServer, organization: TestOrganization) -> None:
    first = TestOrganization(server.client, server.credentials)
    tag(first, "of the first organization")
    tag(organization, "of another one")
    server.controls.reset(first.organization_id)
    assert tags(first) == set()
    assert tags(organization) == {"of another one"}
    server.controls.reset(organization.organization_id)
    with pytest.raises((NotFound, Unauthenticated), match="no organization found"):
        organization.client.whoami()
    with pytest.raises(NotFound, match="there is no organization"):
        server.controls.reset(organization.organization_id)


def test_requests_go_on_meanwhile(server: DevelopmentServer) -> None:
    """Every request is answered as before or as after a reset, and nothing is left half."""
    first = TestOrganization(server.client, server.credentials)

    def writes(number: int) -> list[str]:
        problems = []
        for count in range(20):
            try:
                tag(first, f"{number} {count}")
            except ApiError as refused:
                problems.append(str(refused))
        return problems

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(writes, number) for number in range(4)]
        for _ in range(10):
            server.controls.reset(first.organization_id)
        assert [one.result() for one in writing] == [[]] * 4
    left = tags(first)
    tag(first, "after")
    assert tags(first) == {*left, "after"}
    server.controls.reset()
    assert tags(first) == set()


def test_names(server: DevelopmentServer) -> None:
    for name in ("start", "", "x" * 65):
        with pytest.raises(ApiError):
            server.controls.snapshot(name)
    with pytest.raises(NotFound, match="there is no snapshot 'nothing'"):
        server.controls.restore("nothing")
    taken = {name for name in server.controls.snapshots() if name != "start"}
    names = [*sorted(taken), *(f"snapshot {number}" for number in range(SNAPSHOTS_MAX - 1 - len(taken)))]
    for name in names:
        server.controls.snapshot(name)
    assert len(server.controls.snapshots()) == SNAPSHOTS_MAX
    with pytest.raises(ApiError, match="there are 20 snapshots"):
        server.controls.snapshot("one more")
    server.controls.snapshot(names[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keystead.db"
    migrate(f"sqlite:///{path}")
    return path


async def _all(
    path: Path, monkeypatch: pytest.MonkeyPatch, calls: Sequence[Callable[[Snapshots], Awaitable[SnapshotNames]]]
) -> tuple[list[Any], Snapshots]:
    """The outcomes of calls at one instant, of a server that has taken all snapshots but one; and its snapshots."""
    store = await open_store(f"sqlite:///{path}")
    finish_commits = store.finish_commits

    async def while_commits_are_written() -> None:
        await asyncio.sleep(0)
        await finish_commits()

    monkeypatch.setattr(store, "finish_commits", while_commits_are_written)
    snapshots = Snapshots(store, lambda: None)
    await snapshots.take_start()
    for number in range(SNAPSHOTS_MAX - 2):
        await snapshots.take(SnapshotUpdate(name=f"{number}"))
    outcomes = await asyncio.gather(*[call(snapshots) for call in calls], return_exceptions=True)
    await store.close()
    return outcomes, snapshots


def test_no_more_than_the_limit_are_taken_at_one_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = SnapshotUpdate(name="one"), SnapshotUpdate(name="other")
    outcomes, snapshots = asyncio.run(
        _all(path, monkeypatch, [lambda each: each.take(one), lambda each: each.take(other)])
    )
    assert [type(outcome) for outcome in outcomes] == [SnapshotNames, LimitReached]
    assert len(snapshots.state().snapshots) == SNAPSHOTS_MAX


def test_a_snapshot_that_is_replaced_while_it_is_put_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restored, taken = RestoreUpdate(name="0"), SnapshotUpdate(name="0")
    outcomes, snapshots = asyncio.run(
        _all(path, monkeypatch, [lambda each: each.take(taken), lambda each: each.restore(restored)])
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, BaseException)] == []
    assert snapshots.state().snapshots[-1] == "0"
