"""The distributions, built from the repository's files alone, and an environment in which the wheel is installed.

The wheel is built from the source distribution, so that is tested too. The packages that it depends on are those of
this environment: nothing is downloaded.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, tracked_files


def _made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the run's temporary one, which the first worker that needs it makes and the others wait for."""
    folder, finished = (Path(tempfile.gettempdir()) / each for each in (name, f"{name}-finished"))
    with folder.with_name(f"{name}-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder


@pytest.fixture(scope="session")
def built() -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    out = _made_once("distributions", _make_distributions)
    (source,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return source, wheel


def _make_distributions(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree, unpacking = Path(folder, "tree"), Path(folder, "unpacked")
        for path in tracked_files():
            if (ROOT / path).is_file():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, tree / path)
        _build(tree, out, "sdist")
        (source,) = out.glob("*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(unpacking, filter="data")
        (unpacked,) = unpacking.iterdir()
        _build(unpacked, out, "wheel")


def _build(tree: Path, out: Path, what: str) -> None:
    code = f"from setuptools.build_meta import build_{what}; build_{what}({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def installed(built: tuple[Path, Path]) -> Path:
    """The folder of commands of an environment that has the wheel, and this environment's packages behind it."""

    def make(folder: Path) -> None:
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", "--no-deps", "--no-index",
             "--disable-pip-version-check", str(built[1])],
            check=True,
        )  # fmt: skip
        (site_packages,) = folder.glob("lib/python3*/site-packages")
        # A path file of another path file is not read: this environment's own, editable Keystead stays out.
        (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    return _made_once("environment", make) / "bin"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("KEYSTEAD_", "PYTHON"))]:
        monkeypatch.delenv(name)
    yield tmp_path
