"""The package as people get it: built from the repository's files alone, installed where the repository is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support.hanging import PATIENCE_S
from tests.support.source_tree import ROOT, imported_names, modules, tracked_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def metadata(built: tuple[Path, Path]) -> Message:
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


def test_the_wheel_has_every_file_of_the_package(built: tuple[Path, Path]) -> None:
    ours = {path.relative_to("src").as_posix() for path in tracked_files() if path.parts[:2] == ("src", "keystead")}
    with zipfile.ZipFile(built[1]) as archive:
        theirs = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert theirs == ours


def test_the_source_distribution_has_every_file_of_the_repository(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        theirs = {member.name.partition("/")[2] for member in archive if member.isfile()}
    ours = {path.as_posix() for path in tracked_files() if (ROOT / path).is_file()}
    assert ours - theirs == set(), "MANIFEST.in says what the source distribution holds: add them there"


def test_metadata(metadata: Message) -> None:
    assert metadata["Name"] == "keystead"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Keywords"]
    classifiers = metadata.get_all("Classifier") or []
    for minor in range(11, 16):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    assert not [each for each in classifiers if each.startswith("License ::")], "the license expression says it"
    links = {each.partition(", ")[0] for each in metadata.get_all("Project-URL") or []}
    assert links >= {"Homepage", "Documentation", "Source", "Issues", "Changelog"}


def test_links_of_the_readme_work_outside_the_repository(metadata: Message) -> None:
    readme = str(metadata.get_payload())
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    source = PROJECT["urls"]["Source"]
    ours = [target.removeprefix(f"{source}/").partition("#")[0] for target in targets if target.startswith(source)]
    assert ours
    assert [each for each in ours if not (ROOT / each).exists()] == []


def test_the_version_is_that_of_the_changelog() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["version"]


def test_every_package_that_is_imported_is_declared() -> None:
    declared = {_normal(re.split(r"[<>=;\[ ]", each)[0]) for each in PROJECT["dependencies"]}
    declared |= {_normal(re.split(r"[<>=;\[ ]", each)[0]) for each in PROJECT["optional-dependencies"]["pkcs11"]}
    of_module = packages_distributions()
    imported = {
        name.partition(".")[0]
        for module in modules().values()
        for name in imported_names(module)
        if name.partition(".")[0] not in ("keystead", *sys.stdlib_module_names)
    }
    undeclared = {name for name in imported if not declared & set(map(_normal, of_module.get(name, [name])))}
    assert undeclared == {"pytest"}, "pytest is there where its plugin is loaded"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(installed: Path, *arguments: str) -> str:
    done = subprocess.run(
        [installed / "keystead", *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_the_wheel_that_is_installed(installed: Path, elsewhere: Path) -> None:
    code = "import keystead; print(keystead.__file__)"
    printed = subprocess.run([installed / "python", "-c", code], capture_output=True, text=True, check=True)
    assert Path(printed.stdout).is_relative_to(installed.parent)


def test_it_says_its_version(installed: Path, elsewhere: Path) -> None:
    assert _run(installed, "--version").startswith(f"keystead {PROJECT['version']}, ")
    assert _run(installed, "dev", "--help").startswith("Usage: keystead dev")


def test_it_serves(installed: Path, elsewhere: Path) -> None:
    command = [str(installed / "keystead"), "dev", "--port", "0", "--data", "data"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            seen = []
            for line in server.stdout:
                seen.append(line)
                if "First request" in line:
                    break
            else:
                pytest.fail("".join(seen))
            answer = _run(installed, "request", "query/whoami", "--credentials", "data/credentials.json")
            credentials = json.loads(Path("data/credentials.json").read_text())
            assert json.loads(answer)["organizationId"] == credentials["organizationId"]
        finally:
            server.terminate()
