"""`python -OO` drops docstrings and assertions: a server still starts and documents its operations."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from keystead.client.credentials import credentials_in

START_LIMIT_S = 60


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_starts(flag: str, tmp_path: Path) -> None:
    command = [sys.executable, flag, "-m", "keystead", "dev", "--port", "0", "--data", str(tmp_path / "data")]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        base_url, deadline = "", time.monotonic() + START_LIMIT_S
        while not base_url:
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
            path = tmp_path / "data" / "credentials.json"
            base_url = credentials_in(path).base_url if path.exists() else ""
        while True:
            try:
                document = httpx.get(f"{base_url}/openapi.json").json()
                break
            except httpx.TransportError:
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.02)
    finally:
        process.terminate()
        process.wait()
    described = {path: what["post"]["summary"] for path, what in document["paths"].items() if "post" in what}
    assert described["/public/v1/submit/create_wallet"].startswith("Make a wallet from a new mnemonic")
