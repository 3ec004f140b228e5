"""Moving an installation from one master key to another, while it runs.

Every value that the master key seals is sealed anew under the new one: the data key of each organization, and the
facts of the installation. What data keys seal stays as it is. Not here: the command (`cli`), the order in which an
operator restarts servers (docs/security.md).

Each value moves in a commit of its own, which holds only if nobody changed the value in between, and one that has
moved is known by the id of its key. So whoever stops half-way begins again and does the rest. The check value moves
last: until then a server that has only the new key refuses to start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from keystead.api.rendering import encode
from keystead.keys.sealing import Master, MasterKeys, SealBroken, SealContext, data_key_context
from keystead.organizations.organization import DataKey, Put, Version, apply
from keystead.pipeline.ports import Sealed
from keystead.pipeline.store import Commit, CommitOutcome, OrganizationChange, Page
from keystead.server.service import CHECK, SEALED_FACTS
from keystead.storage.base import DatabaseStore

_PAGE = 500
_AT_ONCE: Final = 32
_PASSES_MAX: Final = 5
_ATTEMPTS: Final = 200
_SHOWN_MAX: Final = 5


class RotationRefused(Exception):
    """Why not everything moved to the new key, in one line for the operator."""


class Progress(msgspec.Struct):
    """`seen` data keys, of which `moved` were sealed anew; `facts` of the installation likewise."""

    seen: int = 0
    moved: int = 0
    facts: int = 0


async def rotate_master(
    store: DatabaseStore, *, old: Master, new: Master, new_id: Callable[[], str], tell: Callable[[Progress], None]
) -> Progress:
    """Seal under `new` whatever is sealed under `old`; what was done. `tell` hears of it page by page.

    Raises RotationRefused: nothing was founded here; the two are one key; neither is this installation's; a value
    opens under neither, and then all others have moved but the check value; a server goes on sealing under `old`.
    """
    rotation = _Rotation(store, MasterKeys(new, [old]), new_id, tell)
    if new.key_id == old.key_id:
        raise RotationRefused(f"both master keys are the same, {new.key_id}")
    await rotation.check()
    for _ in range(_PASSES_MAX):
        if not await rotation.move_data_keys():
            await rotation.move_facts()
            return rotation.progress
    raise RotationRefused("a server still seals under the old master key: restart it with the new one, then go on")


class _Rotation:
    def __init__(
        self, store: DatabaseStore, keys: MasterKeys, new_id: Callable[[], str], tell: Callable[[Progress], None]
    ) -> None:
        self._store = store
        self._keys = keys
        self._new_id = new_id
        self._tell = tell
        self.progress = Progress()

    async def check(self) -> None:
        """That these are keys of this installation."""
        try:
            self._keys.open(_sealed(await self._fact(CHECK)), SEALED_FACTS[CHECK])
        except SealBroken as broken:
            raise RotationRefused(f"neither is the master key of this installation: {broken}") from None

    async def move_data_keys(self) -> int:
        """One pass over all organizations; how many data keys moved."""
        self.progress.seen, moved_before = 0, self.progress.moved
        broken: list[str] = []
        last = None
        while found := await self._store.data_keys(Page(_PAGE, after=last)):
            # That of a deleted organization is empty: it has nothing left to seal.
            due = [id_ for id_, key in found if key.sealed.key_id not in ("", self._keys.key_id)]
            for begin in range(0, len(due), _AT_ONCE):
                together = due[begin : begin + _AT_ONCE]
                outcomes = await asyncio.gather(*[self._move_data_key(id_) for id_ in together])
                broken += [outcome for outcome in outcomes if outcome]
            last = found[-1][0]
            self.progress.seen += len(found)
            self._tell(self.progress)
        if broken:
            shown = "; ".join(broken[:_SHOWN_MAX])
            raise RotationRefused(
                f"{len(broken)} data keys open under neither master key, so the check value stays: {shown}"
            )
        return self.progress.moved - moved_before

    async def _move_data_key(self, organization_id: str) -> str:
        """Move one; "", or why it does not open."""
        for _ in range(_ATTEMPTS):
            organization = await self._store.organization(organization_id)
            assert organization is not None, organization_id
            sealed = organization.data_key.sealed
            if sealed.key_id in ("", self._keys.key_id):
                return ""
            try:
                moved = self._moved(sealed, data_key_context(organization_id))
            except SealBroken as broken:
                return str(broken)
            change = Put(DataKey(moved))
            version = Version(organization.version.number + 1, self._new_id())
            commit = Commit(
                organization_id=organization_id,
                activity=None,
                change=OrganizationChange(
                    before=organization.version,
                    after=apply(organization, [change], version),
                    changes=(change,),
                    attachments=(),
                    lookups=frozenset(),
                ),
            )
            if await self._store.commit(commit) is CommitOutcome.COMMITTED:
                self.progress.moved += 1
                return ""
        raise RotationRefused(f"organization {organization_id} is changed all the time: go on when it is quieter")

    async def move_facts(self) -> None:
        for name, context in SEALED_FACTS.items():
            while (sealed := _sealed(fact := await self._fact(name))).key_id != self._keys.key_id:
                try:
                    moved = self._moved(sealed, context)
                except SealBroken as broken:
                    raise RotationRefused(f"{broken}; the check value stays") from None
                if await self._store.replace_instance_value(name, fact, encode(moved)):
                    self.progress.facts += 1

    def _moved(self, sealed: Sealed, context: SealContext) -> Sealed:
        """Raises SealBroken."""
        moved = self._keys.seal(self._keys.open(sealed, context), context)
        self._keys.open(moved, context)  # what cannot be opened must not take the place of what can
        return moved

    async def _fact(self, name: str) -> bytes:
        found = await self._store.instance_value(name)
        if found is None:
            raise RotationRefused("the database holds no organization yet")
        return found


def _sealed(fact: bytes) -> Sealed:
    return msgspec.json.decode(fact, type=Sealed)
