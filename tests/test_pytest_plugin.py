"""The pytest plugin: servers of one's own, the same each time where a seed is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from keystead import Unauthenticated
from keystead.testing import DevelopmentServer
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
    with keystead_server():
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


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
