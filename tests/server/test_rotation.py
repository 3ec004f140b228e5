"""Rotation of the master key: every value is sealed again, nothing is lost, wrong keys are refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.identifiers import new_id
from keystead.keys.master_key import create
from keystead.keys.sealing import MasterKey
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile
from keystead.organizations.organization import Organization, Put, Version, apply
from keystead.pipeline.store import Changes, Commit, CommitResult, Page
from keystead.server.installation.rotation import Progress, RotationRefused, rotate_master
from keystead.server.opening import NotReady, open_checked
from keystead.server.settings.settings import Settings
from keystead.signer.installation_keys import SEALED_VALUES
from keystead.stamps.signing import generate_api_key
from keystead.storage.store import DatabaseStore
from tests.support.callers import now_ms
from tests.support.servers import Installation, user_with_key

COMMITTED = CommitResult.COMMITTED


@pytest.fixture
def organization_ids(installation: Installation) -> list[str]:
    """The first organization and four more."""
    more = [installation.add_organization(user_with_key(generate_api_key())).id for _ in range(4)]
    return [installation.organization_id, *more]


def rotated(installation: Installation, new: MasterKey, old: MasterKey | None = None) -> Progress:
    async def run(store: DatabaseStore) -> Progress:
        return await rotate_master(
            store,
            old=old or installation.master_key,
            new=new,
            new_id=new_id,
            now_ms=now_ms(),
            report=lambda _: None,
        )

    return installation.database.with_store(run)


def fact(installation: Installation, name: str) -> Sealed:
    async def read(store: DatabaseStore) -> bytes | None:
        return await store.installation.value(name)

    found = installation.database.with_store(read)
    assert found is not None
    return msgspec.json.decode(found, type=Sealed)


def start_with(installation: Installation, sealing: MasterKey, other: str = "") -> None:
    """Raises NotReady unless a server with these keys would start."""

    async def run() -> None:
        opened = await open_checked(
            Settings(
                database_url=installation.database.url,
                master_key=sealing.secret_text(),
                other_master_key_file=other,
            )
        )
        await opened.close()

    asyncio.run(run())


def test_everything_moves(installation: Installation, organization_ids: list[str], tmp_path: Path) -> None:
    old, new = installation.master_key, MasterKey.generate()
    other = tmp_path / "old.key"
    create(other, old)
    data_keys = {id_: installation.database.organization(id_).data_key.sealed for id_ in organization_ids}
    plain = {id_: old.open_data_key(sealed, id_).key_id for id_, sealed in data_keys.items()}
    start_with(installation, new, str(other))
    with pytest.raises(NotReady):
        start_with(installation, new)
    assert rotated(installation, new) == Progress(seen=5, resealed=5, installation_values=len(SEALED_VALUES))
    for organization_id in organization_ids:
        organization = installation.database.organization(organization_id)
        assert organization.version.number == 2
        assert new.open_data_key(organization.data_key.sealed, organization_id).key_id == plain[organization_id]
    for name, context in SEALED_VALUES.items():
        new.open(fact(installation, name), context)
    start_with(installation, new)
    start_with(installation, new, str(other))
    in_use = rf"or is no longer in use \(the given key is '{old.key_id}', the data is under '{new.key_id}'\)"
    with pytest.raises(NotReady, match=f"does not open the stored data: .*{in_use}"):
        start_with(installation, old)
    # Once more, there is nothing to do.
    assert rotated(installation, new) == Progress(seen=5, resealed=0, installation_values=0)


def set_data_key(installation: Installation, organization_id: str, sealed: Sealed) -> None:
    """Past the store, as somebody with the database's password would."""
    body = msgspec.json.encode(SealedDataKey(sealed)).hex()
    literal = f"x'{body}'" if installation.database.url.startswith("sqlite") else f"'\\x{body}'::bytea"
    installation.database.rows(
        f"UPDATE record SET body = {literal} WHERE kind = 'data_key' AND organization_id = '{organization_id}'"
    )


def flipped(sealed: Sealed) -> Sealed:
    return Sealed(sealed.key_id, sealed.ciphertext[:-1] + bytes([sealed.ciphertext[-1] ^ 1]))


def another_masters(installation: Installation, organization_id: str) -> Sealed:
    opened = installation.master_key.open_data_key(data_key(installation, organization_id), organization_id)
    return MasterKey.generate().seal_data_key(opened, organization_id)


def data_key(installation: Installation, organization_id: str) -> Sealed:
    return installation.database.organization(organization_id).data_key.sealed


DAMAGE: dict[str, tuple[Callable[[Installation, list[str]], Sealed], str]] = {
    "a changed byte": (
        lambda installation, ids: flipped(data_key(installation, ids[2])),
        "it was changed, or belongs to another record",
    ),
    "the key of another organization": (
        lambda installation, ids: data_key(installation, ids[1]),
        "it was changed, or belongs to another record",
    ),
    "a value of the server in its place": (
        lambda installation, ids: fact(installation, "master_key_check"),
        "it was changed, or belongs to another record",
    ),
    "under a third master key": (
        lambda installation, ids: another_masters(installation, ids[2]),
        "it is under key",
    ),
    "cut off": (
        lambda installation, ids: Sealed(data_key(installation, ids[2]).key_id, b"short"),
        "too few, it was cut off",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damage(
    damage: Callable[[Installation, list[str]], Sealed],
    message: str,
    installation: Installation,
    organization_ids: list[str],
) -> None:
    """Is named; the rest moves; the check value stays, so that no server starts with the new key alone. Once it is
    mended, the next run does the rest."""
    new, victim = MasterKey.generate(), organization_ids[2]
    good = data_key(installation, victim)
    set_data_key(installation, victim, damage(installation, organization_ids))
    with pytest.raises(RotationRefused, match=message) as refused:
        rotated(installation, new)
    assert victim in str(refused.value)
    assert "1 data keys open under neither master key" in str(refused.value)
    for organization_id in set(organization_ids) - {victim}:
        assert data_key(installation, organization_id).key_id == new.key_id
    assert fact(installation, "master_key_check").key_id == installation.master_key.key_id
    with pytest.raises(NotReady):
        start_with(installation, new)
    set_data_key(installation, victim, good)
    assert rotated(installation, new) == Progress(seen=5, resealed=1, installation_values=len(SEALED_VALUES) - 1)


def test_wrong_keys(installation: Installation, organization_ids: list[str]) -> None:
    """Change nothing."""
    before = installation.database.values()
    with pytest.raises(RotationRefused, match="neither key is the master key of this installation"):
        rotated(installation, MasterKey.generate(), MasterKey.generate())
    with pytest.raises(RotationRefused, match="both master keys are the same"):
        rotated(installation, installation.master_key)
    assert installation.database.values() == before


def put(organization: Organization, record: Profile | SealedDataKey) -> Commit:
    """What a server would commit that changes this record."""
    after = apply(organization, [Put(record)], Version(organization.version.number + 1, new_id()))
    write = Changes(after=after, records=(Put(record),), attachments=(), lookups_added=frozenset())
    return Commit(organization_id=organization.id, decided_on=organization.version, activity=None, changes=write)


def test_an_organization_that_another_process_changes_all_the_time(
    installation: Installation, organization_ids: list[str]
) -> None:
    """Its changes are kept, and its data key is replaced under the organization's lock."""
    new, busy, is_done = MasterKey.generate(), organization_ids[3], threading.Event()
    names: list[str] = []

    async def change(store: DatabaseStore) -> None:
        while not is_done.is_set():
            organization = await store.organization(busy)
            assert organization is not None
            name = f"name {len(names)}"
            if await store.commit(put(organization, replace(organization.profile, name=name))) is COMMITTED:
                names.append(name)

    with ThreadPoolExecutor(1) as others:
        changing = others.submit(installation.database.with_store, change)
        while len(names) < 10:
            time.sleep(0.01)
        try:
            assert rotated(installation, new).resealed == 5
        finally:
            is_done.set()
        changing.result()
    organization = installation.database.organization(busy)
    assert organization.profile.name == names[-1]
    new.open_data_key(organization.data_key.sealed, busy)


def test_a_server_that_goes_on_with_the_old_key(
    installation: Installation, organization_ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is noticed, and the check value does not move."""
    victim = installation.database.organization(organization_ids[0])

    async def run(store: DatabaseStore) -> Progress:
        data_keys = store.installation.data_keys

        async def one_more(page: Page) -> list[tuple[str, SealedDataKey]]:
            organization = await store.organization(victim.id)
            assert organization is not None
            if page.after is None and organization.data_key != victim.data_key:
                await store.commit(put(organization, victim.data_key))
            return await data_keys(page)

        monkeypatch.setattr(store.installation, "data_keys", one_more)
        new = MasterKey.generate()
        return await rotate_master(
            store, old=installation.master_key, new=new, new_id=new_id, now_ms=now_ms(), report=lambda _: None
        )

    with pytest.raises(RotationRefused, match="a server still seals under the old master key"):
        installation.database.with_store(run)
    assert fact(installation, "master_key_check").key_id == installation.master_key.key_id
