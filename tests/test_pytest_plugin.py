"""The pytest plugin: servers of one's own, the same each time where a seed is given."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from keystead import Unauthenticated
from keystead.testing import DevelopmentServer
from tests.support.dev_servers import wait_until_ended
from tests.support.hanging import PATIENCE_S

NewServer = Callable[..., AbstractContextManager[DevelopmentServer]]


def seen(new_server: NewServer, seed: str) -> tuple[str, ...]:
    """Every identifier and key that a server made for itself."""
    with new_server(seed=seed) as server:
        assert server.credentials.user_id is not None
        user = server.client.get_user(user_id=server.credentials.user_id).user
        (wallet,) = server.client.list_wallets().wallets
        accounts = server.client.list_wallet_accounts(wallet_id=wallet.wallet_id).accounts
        proved = server.client.create_user_tag(user_tag_name="x", user_ids=[], generate_app_proofs=True)
        return (
            server.credentials.organization_id,
            server.credentials.api_private_key,
            user.user_id,
            user.api_keys[0].api_key_id,
            wallet.wallet_id,
            *(account.wallet_account_id for account in accounts),
            httpx.get(f"{server.base_url}/bundle-signer", timeout=PATIENCE_S).json()["compositePublicKey"],
            *(proof.public_key for proof in proved.activity.app_proofs or ()),
        )


def test_servers_at_once(keystead_server: NewServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        first, again, other, unseeded = pool.map(
            seen, [keystead_server] * 4, ["one text", "one text", "another text", ""]
        )
    assert first == again
    for one, its_like in ((first, other), (first, unseeded), (other, unseeded)):
        assert set(one).isdisjoint(its_like)


def test_the_server_of_the_session(keystead: DevelopmentServer) -> None:
    assert keystead.client.whoami().user_id == keystead.credentials.user_id
    assert keystead.base_url.startswith("http://localhost:")
    assert keystead.credentials.api_private_key not in repr(keystead)


def test_in_a_project_that_only_installs_the_package(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_wallets(keystead):
            assert keystead.client.list_wallets().wallets
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_nothing_is_left_behind(
    keystead_server: NewServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with keystead_server() as server:
        assert not list(tmp_path.iterdir()), "it has read its files"
        assert server.client.whoami()
    assert not list(tmp_path.iterdir())


CALLER = """
import os, signal, subprocess, sys, time
from keystead.testing import development_server

with development_server() as one, development_server() as other:
    print(one.base_url, other.base_url, flush=True)
"""
FORKS = """
    if os.fork() == 0:  # it lives longer, and holds what its parent held
        os.close(0), os.close(1), os.close(2)
        time.sleep(60)
"""
ENDS = {
    "SIGTERM": "    os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "    os.kill(os.getpid(), signal.SIGKILL)",
    "SIGKILL, and a fork that lives on": FORKS + "    os.kill(os.getpid(), signal.SIGKILL)",
    "os._exit": "    os._exit(3)",
    "an exception": "    raise ValueError",
}


@pytest.mark.parametrize("how", ENDS)
def test_servers_end_with_the_process_that_started_them(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLER + ENDS[how]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode != 0
    wait_until_ended(done.stdout.split())


def test_servers_of_a_test_in_a_test() -> None:
    """The inner process goes on after the outer one was killed, and so do its servers, until it ends, too."""
    inner = f"subprocess.Popen([sys.executable, '-c', {CALLER + '    sys.stdin.read()'!r}], stdin=subprocess.PIPE)"
    script = CALLER + f"    inner = {inner}\n    time.sleep(1000)\n"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout is not None
        addresses = (outer.stdout.readline() + outer.stdout.readline()).split()
        assert len(set(addresses)) == 4
        outer.kill()
    wait_until_ended(addresses)


def test_the_examples_of_the_page(pytester: pytest.Pytester) -> None:
    page = (Path(__file__).parents[1] / "docs" / "testing.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(**{f"test_{number}": block for number, block in enumerate(blocks)})
    tests = sum(block.count("def test_") for block in blocks)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=tests)


def test_each_worker_has_a_server_of_its_own(pytester: pytest.Pytester) -> None:
    """Each of them freezes its clock at a time of its own; what they see depends on nobody else."""
    pytester.makepyfile(
        **{
            f"test_{number}": f"""
                import datetime

                MOMENT = datetime.datetime({2030 + number}, 1, 1, tzinfo=datetime.UTC)

                def test_the_clock(keystead_organization, keystead_clock):
                    for _ in range(20):
                        assert keystead_clock.freeze(MOMENT) == MOMENT
                        tag = keystead_organization.client.create_user_tag(user_tag_name=str(_), user_ids=[])
                        assert tag.activity.created_at.epoch_ms == MOMENT.timestamp() * 1000

                def test_afterwards(keystead):
                    assert keystead.controls.clock.now() < datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
            """
            for number in range(2)
        }
    )
    run = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile")
    run.assert_outcomes(passed=4)


def test_organizations_share_nothing(keystead: DevelopmentServer) -> None:
    one, other = keystead.new_organization("One", wallet=True), keystead.new_organization("Other")
    assert one.client.list_wallets().wallets[0].wallet_name == "Development"
    assert other.client.list_wallets().wallets == ()
    with pytest.raises(Unauthenticated):
        other.client.list_wallets(organization_id=one.organization_id)
    assert one.credentials.api_private_key not in repr(one)
