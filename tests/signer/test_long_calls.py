"""Long work of one organization delays another's by a slice at a time. Order is compared, never times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import InvalidRequest, Unavailable
from keystead.chains.bounds import PATH_DEPTH_MAX, PATHS_SEGMENTS_MAX
from keystead.chains.signatures import SignatureScheme
from keystead.keys import derivation
from keystead.keys.derivation import DerivationTree
from keystead.keys.sealing import MasterKey
from keystead.keys.steps import Steps, complete
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import AccountRequest, WalletKey
from keystead.primitives.share import SLICE_S, Share
from keystead.signer import long_calls
from keystead.signer.local import LocalSigner
from keystead.signer.long_calls import LongCalls


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Scene:
    """Long calls, and the name of each slice that was done, in order."""

    def __init__(self) -> None:
        self._clock = Clock()
        self.long_calls = LongCalls(Share(self._clock, self._clock))
        self.log: list[str] = []

    def work(self, name: str, slices: int) -> Steps[str]:
        for _ in range(slices):
            self.log.append(name)
            for _ in range(4):
                self._clock.now_s += SLICE_S / 3.9
                yield
        return name

    async def run(self, organization_id: str, name: str, slices: int) -> str:
        return await self.long_calls.run(organization_id, self.work(name, slices))

    def begin(self, organization_id: str, name: str, slices: int) -> asyncio.Task[str]:
        return asyncio.create_task(self.run(organization_id, name, slices))


def test_organizations_take_turns() -> None:
    """Each begins at once. Then one slice of each follows, and the calls of one organization follow each other."""
    scene = Scene()

    async def run() -> None:
        calls = {"a1": 4, "a2": 4, "b": 3, "c": 3}
        begun = [scene.begin(name[0], name, slices) for name, slices in calls.items()]
        assert await asyncio.gather(*begun) == [*calls]

    asyncio.run(run())
    assert scene.log == ["a1", "b", "c", *["a1", "b", "c"] * 2, "a1", *["a2"] * 4]


def test_the_event_loop_runs_between_slices() -> None:
    scene = Scene()

    async def run() -> None:
        long = scene.begin("a", "slice", 5)
        while not long.done():
            scene.log.append("loop")
            await asyncio.sleep(0)

    asyncio.run(run())
    assert "slice slice" not in " ".join(scene.log)


def test_a_failure_is_its_callers_alone() -> None:
    def failing() -> Steps[None]:
        yield
        raise InvalidRequest("no")

    async def run() -> None:
        scene = Scene()
        failed, done = await asyncio.gather(
            scene.long_calls.run("a", failing()), scene.run("a", "done", 2), return_exceptions=True
        )
        assert isinstance(failed, InvalidRequest)
        assert done == "done"

    asyncio.run(run())


def test_work_that_nobody_waits_for_ends() -> None:
    scene, closed = Scene(), list[str]()

    def work() -> Steps[None]:
        try:
            yield from scene.work("given up", 100)
        finally:
            closed.append("given up")

    async def run() -> None:
        given_up = asyncio.create_task(scene.long_calls.run("a", work()))
        await asyncio.sleep(0)
        given_up.cancel()
        await scene.run("a", "next", 1)
        assert closed == ["given up"]

    asyncio.run(run())
    assert scene.log == ["given up", "next"]


@pytest.mark.parametrize(
    ("per_organization", "in_all", "names"), [(2, 9, ["a", "a", "a"]), (9, 2, ["a", "b", "c"])]
)
def test_too_much_work_is_refused(
    per_organization: int, in_all: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One limit is for each organization, and one is for all together. The accepted work is done, and then there is
    room again."""
    monkeypatch.setattr(long_calls, "LONG_CALLS_PER_ORGANIZATION_MAX", per_organization)
    monkeypatch.setattr(long_calls, "LONG_CALLS_MAX", in_all)

    async def run() -> None:
        scene = Scene()
        taken = [scene.begin(name, name, 2) for name in names[:2]]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="sending the same request again is safe"):
            await scene.run(names[2], "refused", 1)
        assert await asyncio.gather(*taken) == names[:2]
        assert await scene.run(names[2], "later", 1) == "later"
        assert "refused" not in scene.log

    asyncio.run(run())


def account(path: str, curve: Curve = Curve.SECP256K1) -> AccountRequest:
    return AccountRequest(curve, PathFormat.BIP32, path, AddressFormat.COMPRESSED)


def heaviest() -> list[AccountRequest]:
    """As much as one request may ask for, with nothing shared."""
    count = PATHS_SEGMENTS_MAX // PATH_DEPTH_MAX
    return [account(f"m/{number}" + "/0" * (PATH_DEPTH_MAX - 1), Curve.P256) for number in range(count)]


def test_eight_heavy_tenants_and_another() -> None:
    """Each keeps four of the heaviest requests waiting. Another's wallet and signatures are done before any of them
    has finished its second."""
    signer = LocalSigner(MasterKey.generate())
    finished: list[str] = []

    async def create(name: str, data_key: Sealed, accounts: list[AccountRequest]) -> Any:
        made = await signer.create_wallet(
            organization_id=name, data_key=data_key, wallet_id="wallet", mnemonic_length=12, accounts=accounts
        )
        finished.append(name)
        return made

    async def run() -> None:
        keys = {name: await signer.new_data_key(name) for name in [*map(str, range(8)), "another"]}
        heavy = [asyncio.create_task(create(str(n % 8), keys[str(n % 8)], heaviest())) for n in range(32)]
        await asyncio.sleep(0)
        wallet = await create("another", keys["another"], [account("m/44'/60'/0'/0/0")])
        key = WalletKey(
            wallet_id="wallet",
            sealed=wallet.sealed_mnemonic,
            curve=Curve.SECP256K1,
            path="m/44'/60'/0'/0/0",
            public_key=bytes.fromhex(wallet.accounts[0].public_key),
        )
        for _ in range(20):
            await asyncio.sleep(0)
            await signer.sign(
                organization_id="another",
                data_key=keys["another"],
                key=key,
                scheme=SignatureScheme.ECDSA,
                messages=[bytes(32)],
            )
        assert finished == ["another"]
        for task in heavy:
            task.cancel()
        await asyncio.gather(*heavy, return_exceptions=True)

    asyncio.run(run())


def test_shared_prefixes_are_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[int] = []
    child = derivation._child

    def counted(curve: Curve, key: bytes, chain: bytes, segment: int, parent: bytes) -> tuple[bytes, bytes]:
        children.append(segment)
        return child(curve, key, chain, segment, parent)

    monkeypatch.setattr(derivation, "_child", counted)
    tree = DerivationTree(bytes(64))
    for number in range(100):
        complete(tree.private_key(Curve.SECP256K1, (1, 2, 3, 4, number)))
    assert children == [1, 2, 3, 4, *range(100)]


LIMIT: list[tuple[str, Callable[[LocalSigner, Sealed, list[AccountRequest]], Awaitable[Any]]]] = [
    (
        "create_wallet",
        lambda signer, data_key, accounts: signer.create_wallet(
            organization_id="a", data_key=data_key, wallet_id="w", mnemonic_length=12, accounts=accounts
        ),
    ),
    (
        "restore_wallet",
        lambda signer, data_key, accounts: signer.restore_wallet(
            organization_id="a",
            data_key=data_key,
            wallet_id="w",
            mnemonic="abandon " * 11 + "about",
            accounts=accounts,
        ),
    ),
]


@pytest.mark.parametrize(("name", "call"), LIMIT, ids=[name for name, _ in LIMIT])
def test_one_request_has_a_limit(
    name: str, call: Callable[[LocalSigner, Sealed, list[AccountRequest]], Awaitable[Any]]
) -> None:
    """1,000 accounts 255 deep took the signer 7 s; they are refused before anything is derived."""
    signer = LocalSigner(MasterKey.generate())

    async def run() -> None:
        data_key = await signer.new_data_key("a")
        accounts = [account(f"m/{number}" + "/0" * (PATH_DEPTH_MAX - 1)) for number in range(1_000)]
        with pytest.raises(InvalidRequest, match="have 255000 segments in all; at most 10000 are allowed"):
            await call(signer, data_key, accounts)

    asyncio.run(run())
