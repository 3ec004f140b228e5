"""The GitHub Action's script: it starts a server and tells the steps that follow where it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.hanging import PATIENCE_S

SCRIPT = Path(__file__).parents[2] / "deploy" / "start-in-action.sh"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "keystead"
    command.write_text(f'#!/bin/sh\necho $$ >> "{tmp_path}/pids"\nexec "{sys.executable}" -m keystead "$@"\n')
    command.chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")},
        "PATH": os.pathsep.join([str(command.parent), os.environ["PATH"]]),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "ACTION_PORT": "0",
        "ACTION_OPTIONS": "",
    }


def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    with (Path(environment["RUNNER_TEMP"]) / "printed").open("w+") as printed:
        done = subprocess.run(["bash", SCRIPT], env=environment, stdout=printed, stderr=printed, text=True)
        printed.seek(0)
        return subprocess.CompletedProcess(done.args, done.returncode, printed.read())


def test_the_action_starts_a_server(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run({**environment, "ACTION_OPTIONS": "--seed text --quiet"})
    assert done.returncode == 0, done.stdout
    server = int((tmp_path / "pids").read_text().split()[0])
    try:
        set_for_steps = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
        outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
        assert outputs == {
            "base-url": set_for_steps["BASE_URL"],
            "organization-id": set_for_steps["ORGANIZATION_ID"],
        }
        assert f"::add-mask::{set_for_steps['API_PRIVATE_KEY']}" in done.stdout
        assert httpx.get(f"{outputs['base-url']}/readyz", trust_env=False, timeout=PATIENCE_S).status_code == 200
        command = [sys.executable, "-m", "keystead", "request", "query/whoami"]
        subprocess.run(command, env={**environment, **set_for_steps}, check=True, capture_output=True)
    finally:
        os.kill(server, signal.SIGTERM)


def test_the_action_shows_why_a_server_does_not_start(environment: dict[str, str]) -> None:
    done = run({**environment, "ACTION_OPTIONS": "--no-such-option"})
    assert done.returncode == 1
    assert "::error::keystead dev did not start" in done.stdout
    assert "--no-such-option" in done.stdout
