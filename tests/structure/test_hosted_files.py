"""The files that GitHub and Docker Compose read: against their published schemas, and against this repository.

The schemas come with check-jsonschema. Not here: running the action's script (`tests/cli/test_action.py`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = ".github/workflows/ci.yml"


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", WORKFLOW),
        ("vendor.github-actions", "action.yml"),
        ("vendor.compose-spec", "deploy/compose.dev.yaml"),
    ],
)
def test_schema(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_schema_has_a_row() -> None:
    assert [str(path.relative_to(ROOT)) for path in (ROOT / ".github/workflows").iterdir()] == [WORKFLOW]


def test_the_workflow_starts_every_python_that_the_package_names() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(classifiers), re.MULTILINE)
    started = (ROOT / WORKFLOW).read_text().partition("\n  start:")[2]
    assert re.findall(r'"(3\.\d+)"', started.partition("steps:")[0]) == named


def test_the_workflow_names_actions_by_the_hash_of_their_commit() -> None:
    """Beside the hash is the release that it is the commit of."""
    used = re.findall(r"uses: (.*)$", (ROOT / WORKFLOW).read_text(), re.MULTILINE)
    pinned = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert len(used) > 2
    assert [each for each in used if each != "./" and not pinned.fullmatch(each)] == []


@pytest.mark.parametrize("file", ["action.yml", "deploy/compose.dev.yaml", "deploy/Containerfile", WORKFLOW])
def test_packages_are_installed_with_the_hashes_of_the_lock_files(file: str) -> None:
    text = re.sub(r"\\\n\s*", " ", (ROOT / file).read_text())
    for words in re.findall(r"pip\"? install ([^\n&]*)", text):
        is_locked = "--require-hashes" in words and "requirements/server.lock" in words
        assert is_locked or {"--no-deps", "--no-build-isolation"} <= set(words.split()), words


def test_what_the_action_runs_and_takes() -> None:
    action = (ROOT / "action.yml").read_text()
    (script,) = re.findall(r'bash "\$GITHUB_ACTION_PATH/(\S+)"', action)
    assert (ROOT / script).exists()
    inputs = set(re.findall(r"^  (\w+):\n    description", action.partition("outputs:")[0], re.MULTILINE))
    assert set(re.findall(r"inputs\.(\w+)", action)) == inputs
    given = dict(re.findall(r"^        (ACTION_\w+): (.*)$", action, re.MULTILINE))
    assert set(re.findall(r"\$\{?(ACTION_\w+)", (ROOT / script).read_text())) == set(given)
    steps = (ROOT / WORKFLOW).read_text().partition("uses: ./\n")[2]
    used = re.match(r"        with:\n((?:          \w+: .*\n)+)", steps)
    assert used is not None
    assert set(re.findall(r"(\w+):", used[1])) <= inputs
