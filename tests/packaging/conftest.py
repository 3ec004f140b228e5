"""The distributions, built from the repository's files alone, and an environment in which the wheel is installed.

The wheel is built from the source distribution, so that is tested too. The packages that it depends on are those of
this environment: nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, tracked_files


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("out")
    for path in tracked_files():
        if (ROOT / path).is_file():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, tree / path)
    _build(tree, out, "sdist")
    (source,) = out.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tree.parent / "unpacked", filter="data")
    (unpacked,) = (tree.parent / "unpacked").iterdir()
    _build(unpacked, out, "wheel")
    (wheel,) = out.glob("*.whl")
    return source, wheel


def _build(tree: Path, out: Path, what: str) -> None:
    code = f"from setuptools.build_meta import build_{what}; build_{what}({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that has the wheel, and this environment's packages behind it."""
    folder = tmp_path_factory.mktemp("environment")
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
    return folder / "bin"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("KEYSTEAD_", "PYTHON"))]:
        monkeypatch.delenv(name)
    yield tmp_path
