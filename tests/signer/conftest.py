"""A signer process of the tests' own, and what an installation keeps of its master key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from keystead.keys.master_key import create
from keystead.keys.master_key_source import KeyFile, MasterKeySources
from keystead.keys.sealing import MasterKey
from keystead.signer.supervision import SignerProcess

MASTER_KEY = MasterKey.generate()


@pytest.fixture(scope="session")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vault") / "master.key"
    create(path, MASTER_KEY)
    return path


@pytest.fixture
def signer_process(key_file: Path) -> Iterator[SignerProcess]:
    with SignerProcess(MasterKeySources(KeyFile(str(key_file)))) as process:
        process.wait_until_ready()
        yield process


def pid_of(process: SignerProcess) -> int:
    assert process._process is not None
    return process._process.pid
