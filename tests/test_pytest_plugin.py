"""The pytest plugin: servers of one's own, the same each time where a seed is given."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from keystead.testing import DevelopmentServer

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
            httpx.get(f"{server.base_url}/bundle-signer").json()["compositePublicKey"],
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
