"""The master key file: which modes and contents are taken, and that making one is all or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from keystead.keys import master_key
from keystead.keys.sealing import MasterKey
from keystead.keys.secret_files import MasterKeyError
from keystead.primitives.file_permissions import permission_problem

TEXT = bytes(range(32)).hex()

MODES = {
    # mode: whether it is taken of a file of the service's user, and of one of root's
    0o600: (True, True),
    0o400: (True, True),
    0o700: (True, True),
    0o640: (False, True),
    0o440: (False, True),
    0o660: (False, False),
    0o450: (False, False),
    0o604: (False, False),
    0o644: (False, False),
    0o444: (False, False),
    0o620: (False, False),
    0o602: (False, False),
    0o610: (False, False),
    0o601: (False, False),
    0o777: (False, False),
}


@pytest.mark.parametrize(("mode", "taken"), MODES.items(), ids=[f"{mode:04o}" for mode in MODES])
def test_mode(mode: int, taken: tuple[bool, bool]) -> None:
    """A Secret that Kubernetes mounts with fsGroup is root's, and readable by its group."""
    assert (not permission_problem(mode, owner=1_000), not permission_problem(mode, owner=0)) == taken


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o660])
def test_a_file_for_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "master.key"
    path.write_text(TEXT)
    path.chmod(mode)
    _refused(path, f"has mode {mode:04o}")


def test_a_file_for_its_owner_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text(TEXT)
    path.chmod(0o400)
    assert master_key.load(path).key_id == MasterKey.from_text(TEXT).key_id


CONTENTS = {
    "empty": (b"", "holds no master key"),
    "too short": (TEXT[:-1].encode(), "holds no master key"),
    "too long": (TEXT.encode() + b"0", "holds no master key"),
    "raw bytes": (bytes(range(224, 256)), "holds no master key"),
    "huge": (b"0" * 1_000_000, "has more than 1024 bytes"),
    "a key, then very much": (TEXT.encode() + b"\n" * 5000, "has more than 1024 bytes"),
}


@pytest.mark.parametrize(("content", "message"), CONTENTS.values(), ids=CONTENTS)
def test_content(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "master.key"
    path.write_bytes(content)
    path.chmod(0o600)
    _refused(path, message)


def test_missing(tmp_path: Path) -> None:
    _refused(tmp_path / "master.key", "does not exist")


def test_directory(tmp_path: Path) -> None:
    _refused(tmp_path, "is not a regular file")


def test_pipe_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    os.mkfifo(path, 0o600)
    _refused(path, "is not a regular file")


def test_link_to_a_good_file(tmp_path: Path) -> None:
    made = master_key.create(tmp_path / "real.key")
    (tmp_path / "master.key").symlink_to("real.key")
    assert master_key.load(tmp_path / "master.key").key_id == made.key_id


def _refused(path: Path, reason: str) -> None:
    with pytest.raises(MasterKeyError) as refusal:
        master_key.load(path)
    message = str(refusal.value)
    assert message.startswith(f"master key file {path} {reason}")
    assert "\n" not in message
    assert TEXT[:16] not in message


def test_create(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    before = os.umask(0)
    try:
        made = master_key.create(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert master_key.load(path).key_id == made.key_id
    assert [entry.name for entry in tmp_path.iterdir()] == ["master.key"]


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_create_replaces_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "master.key"
    match kind:
        case "file":
            path.write_text("precious")
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to("elsewhere")
    with pytest.raises(MasterKeyError, match="exists already"):
        master_key.create(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["master.key"]
    assert kind != "file" or path.read_text() == "precious"


def test_create_without_directory(tmp_path: Path) -> None:
    with pytest.raises(MasterKeyError, match="cannot be created: No such file or directory"):
        master_key.create(tmp_path / "missing" / "master.key")


def test_create_leaves_nothing_when_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(MasterKeyError, match="cannot be written: No space left on device"):
        master_key.create(tmp_path / "master.key")
    assert list(tmp_path.iterdir()) == []


def test_environment() -> None:
    key = master_key.from_environment("KEYSTEAD_MASTER_KEY", f"{TEXT}\n")
    assert key.key_id == MasterKey.from_text(TEXT).key_id
    with pytest.raises(MasterKeyError) as refusal:
        master_key.from_environment("KEYSTEAD_MASTER_KEY", TEXT[:-1])
    assert str(refusal.value).startswith("environment variable KEYSTEAD_MASTER_KEY holds no master key: ")
    assert TEXT[:16] not in str(refusal.value)
