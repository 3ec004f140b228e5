"""The folder in which the processes of a server count: its own, and gone after the server, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keystead.server.metrics.serving import metrics_folder

HOLDS = """
import sys, tempfile
from keystead.server.metrics.serving import metrics_folder
tempfile.tempdir = sys.argv[1]
with metrics_folder() as folder:
    (folder / "counter_1.db").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.one_engine


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def another_server(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that holds a folder until it is killed or told to end, and the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(temporary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_the_folder_is_removed_at_the_end(temporary: Path) -> None:
    with metrics_folder() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_server_is_removed_and_that_of_a_running_server_stays(temporary: Path) -> None:
    with another_server(temporary) as (killed, left), another_server(temporary) as (_, held):
        killed.kill()
        killed.wait()
        assert left.is_dir()
        with metrics_folder() as mine:
            assert sorted(temporary.iterdir()) == sorted([held, mine])
            assert [each.name for each in held.iterdir()] == ["counter_1.db"]


def test_a_link_of_that_name_is_left_alone(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").touch()
    (temporary / "keystead-metrics-link").symlink_to(elsewhere)
    with metrics_folder():
        pass
    assert os.listdir(elsewhere) == ["kept"]
