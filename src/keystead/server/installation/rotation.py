"""Rotates the master key of an installation while its servers run.

Here: every value that the master key seals is replaced by the same value sealed under the new key: the data key of
each organization, and the sealed values of the installation; the master keys that the settings name. Values that
data keys seal do not change. Not here: the cryptography (`signer.resealing`), the command (`cli`), the order of
restarts (docs/security.md).

The rotation does not use the pipeline: no user asks for it, no policy applies to it, and no content of an
organization changes. Each value is replaced in its own commit, which succeeds only if the value has not changed
since it was read. The id of the sealing key shows which values are done. If a rotation was interrupted, the
operator runs it again, and it does the rest.

It begins only when the signer of every server has the new key. The proof key is replaced first: from then on, a
server without the new key is not ready and refuses to start. The check value is replaced last: until then, a server
that has only the new key refuses to start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from keystead.api.errors import Conflict
from keystead.api.rendering import encode
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.organization import Organization, Put, Version, apply
from keystead.pipeline.organization_writer import commit_alone
from keystead.pipeline.store import Changes, Commit, Page
from keystead.server.installation.dates import record_master_key
from keystead.server.installation.processes import GONE_AFTER_MS, serving_processes
from keystead.server.settings.settings import Settings, SettingsError
from keystead.signer import master_keys
from keystead.signer.installation_keys import INSTALLATION_KEYS, MADE_AT_START, MASTER_KEY_CHECK, PROOF_KEY
from keystead.signer.resealing import Resealer
from keystead.storage.store import DatabaseStore


def master_key_sources(settings: Settings) -> master_keys.MasterKeySources:
    """The master keys of these settings. Raises SettingsError if they name none, or one in an unknown form."""
    if settings.master_key:
        sealing: master_keys.MasterKeySource = master_keys.KeyText("KEYSTEAD_MASTER_KEY", settings.master_key)
    elif settings.master_key_file:
        sealing = _source(settings.master_key_file, settings)
    else:
        raise SettingsError("no master key: set --master-key-file or KEYSTEAD_MASTER_KEY_FILE")
    other = settings.other_master_key_file
    return master_keys.MasterKeySources(sealing, (_source(other, settings),) if other else ())


def _source(place: str, settings: Settings) -> master_keys.MasterKeySource:
    try:
        return master_keys.parse_source(place, settings.pkcs11_pin)
    except master_keys.MasterKeyError as refused:
        raise SettingsError(str(refused)) from None


_PAGE = 500
_AT_ONCE: Final = 32
_PASSES_MAX: Final = 5
_SHOWN_MAX: Final = 5


class RotationRefused(Exception):
    """The rotation is not complete. The message is one line for the operator."""


class _AlreadyReplacedError(Exception):
    """The data key is sealed under the new master key already."""


class Progress(msgspec.Struct):
    """`seen`: data keys that were looked at. `resealed`: those that were sealed again. `installation_values`:
    values of the installation that were sealed again."""

    seen: int = 0
    resealed: int = 0
    installation_values: int = 0


async def rotate_master(
    store: DatabaseStore,
    *,
    old: master_keys.Master,
    new: master_keys.Master,
    new_id: Callable[[], str],
    now_ms: int,
    report: Callable[[Progress], None],
) -> Progress:
    """Seal every value that is sealed under `old` again, under `new`. Returns the progress; `report` gets it after
    each page.

    Raises RotationRefused if the database holds no organization, if both keys are the same, if neither is the key
    of this installation, if a server does not have the new key, if a value opens under neither key (then all others
    were replaced, except the check value), and if a server still seals under `old`.
    """
    if new.key_id == old.key_id:
        raise RotationRefused(
            f"both master keys are the same, {new.key_id}: name the old one with --master-key-file or "
            "KEYSTEAD_MASTER_KEY_FILE"
        )
    rotation = _Rotation(store, Resealer(old, new), new_id, report)
    await rotation.check()
    await _check_servers(store, new.key_id, now_ms)
    await rotation.replace_instance_value(PROOF_KEY.name)
    for _ in range(_PASSES_MAX):
        if not await rotation.replace_data_keys():
            for key in INSTALLATION_KEYS:
                if key.name in MADE_AT_START and await store.installation.value(key.name) is None:
                    continue  # no server of this version has started yet
                await rotation.replace_instance_value(key.name)
            await rotation.replace_instance_value(MASTER_KEY_CHECK)
            await record_master_key(store, new.key_id, now_ms)
            return rotation.progress
    raise RotationRefused(
        "a server still seals under the old master key: restart it with the new one, then run this command again"
    )


async def _check_servers(store: DatabaseStore, key_id: str, now_ms: int) -> None:
    lacking = [
        process for process in await serving_processes(store, now_ms) if key_id not in process.master_key_ids
    ]
    if lacking:
        shown = ", ".join(
            f"process {process.pid} on {process.host} (has {', '.join(process.master_key_ids)})"
            for process in lacking
        )
        raise RotationRefused(
            f"{len(lacking)} serving processes do not have master key {key_id}: {shown}. Restart every server with "
            f"both keys, then run this command again. A process that was killed counts for another "
            f"{GONE_AFTER_MS // 1000} s"
        )


class _Rotation:
    def __init__(
        self,
        store: DatabaseStore,
        resealer: Resealer,
        new_id: Callable[[], str],
        report: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._resealer = resealer
        self._new_id = new_id
        self._report = report
        self.progress = Progress()

    async def check(self) -> None:
        """Raise RotationRefused unless one of the keys is this installation's."""
        try:
            self._resealer.check(MASTER_KEY_CHECK, _sealed(await self._stored(MASTER_KEY_CHECK)))
        except master_keys.SealBroken as broken:
            raise RotationRefused(f"neither key is the master key of this installation: {broken}") from None

    async def replace_data_keys(self) -> int:
        """One pass over all organizations. Returns how many data keys were replaced."""
        self.progress.seen, before = 0, self.progress.resealed
        broken: list[str] = []
        last = None
        while page := await self._store.installation.data_keys(Page(_PAGE, after=last)):
            due = [id_ for id_, key in page if not self._resealer.is_current(key.sealed)]
            for begin in range(0, len(due), _AT_ONCE):
                together = due[begin : begin + _AT_ONCE]
                outcomes = await asyncio.gather(*[self._replace_data_key(id_) for id_ in together])
                broken += [outcome for outcome in outcomes if outcome]
            last = page[-1][0]
            self.progress.seen += len(page)
            self._report(self.progress)
        if broken:
            shown = "; ".join(broken[:_SHOWN_MAX])
            raise RotationRefused(
                f"{len(broken)} data keys open under neither master key, so the check value stays: {shown}"
            )
        return self.progress.resealed - before

    async def _replace_data_key(self, organization_id: str) -> str:
        """Replace one data key. Returns "", or why it does not open.

        After a conflict the organization is locked, because servers may change it all the time.
        """

        async def decide(organization: Organization | None, _: Sequence[Commit]) -> Commit:
            assert organization is not None, organization_id
            if self._resealer.is_current(organization.data_key.sealed):
                raise _AlreadyReplacedError
            return self._commit_of(organization)

        try:
            await commit_alone(self._store, organization_id, decide)
        except _AlreadyReplacedError:
            return ""
        except master_keys.SealBroken as broken:
            return str(broken)
        except Conflict as refused:
            raise RotationRefused(refused.message) from None
        self.progress.resealed += 1
        return ""

    def _commit_of(self, organization: Organization) -> Commit:
        """The commit that replaces the data key. Raises SealBroken if neither master key opens it."""
        resealed = self._resealer.data_key(organization.data_key.sealed, organization.id)
        change = Put(SealedDataKey(resealed))
        version = Version(organization.version.number + 1, self._new_id())
        return Commit(
            organization_id=organization.id,
            decided_on=organization.version,
            activity=None,
            changes=Changes(
                after=apply(organization, [change], version),
                records=(change,),
                attachments=(),
                lookups_added=frozenset(),
            ),
        )

    async def replace_instance_value(self, name: str) -> None:
        """Replace a value of the installation. `name` is in SEALED_VALUES."""
        while not self._resealer.is_current(sealed := _sealed(stored := await self._stored(name))):
            try:
                resealed = self._resealer.instance_value(name, sealed)
            except master_keys.SealBroken as broken:
                raise RotationRefused(f"{broken}; the check value stays") from None
            if await self._store.installation.replace_value(name, stored, encode(resealed)):
                self.progress.installation_values += 1

    async def _stored(self, name: str) -> bytes:
        value = await self._store.installation.value(name)
        if value is None:
            raise RotationRefused("the database holds no organization yet: run keystead init")
        return value


def _sealed(value: bytes) -> Sealed:
    return msgspec.json.decode(value, type=Sealed)
