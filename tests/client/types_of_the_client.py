"""What a type checker sees of the client. mypy checks this file, and each `ignore` in it must be needed."""

from __future__ import annotations

from typing import assert_type

from keystead import AsyncClient, CallbackStamper, Client, Retries
from keystead.api.records import Activity, User
from keystead.client.shapes import (
    ApiKeyParamsV2,
    CreateWalletResult,
    CreateWalletSubmitted,
    ListWalletsResponse,
    UserParamsV4,
)


def calls(client: Client) -> None:
    assert_type(client.list_wallets(), ListWalletsResponse)
    assert_type(client.get_user(user_id="u").user, User)
    made = client.create_wallet(wallet_name="w", accounts=[], mnemonic_length=24)
    assert_type(made, CreateWalletSubmitted)
    assert_type(made.wallet_id, str)
    assert_type(made.addresses, tuple[str, ...])
    assert_type(made.result, CreateWalletResult)
    assert_type(made.activity, Activity)
    assert_type(made.needs_approval, bool)
    assert_type(client.refresh(made), CreateWalletSubmitted)
    user = UserParamsV4(
        user_name="u",
        api_keys=(ApiKeyParamsV2(api_key_name="k", public_key="02"),),
        authenticators=(),
        oauth_providers=(),
        user_tags=(),
    )
    client.create_users(users=[user], organization_id="o", generate_app_proofs=True)


def mistakes(client: Client) -> None:
    client.create_wallet(wallet_name="w")  # type: ignore[call-arg]
    client.create_wallet(wallet_name=7, accounts=[])  # type: ignore[arg-type]
    client.create_wallet("w", [])  # type: ignore[call-arg]
    client.create_walet(wallet_name="w", accounts=[])  # type: ignore[attr-defined]
    client.create_wallet(wallet_name="w", accounts=[]).wallet_ids  # type: ignore[attr-defined]  # noqa: B018
    Client("http://localhost", "public")  # type: ignore[call-overload]
    Client.from_env(retry=Retries())  # type: ignore[call-arg]


async def awaited(client: AsyncClient) -> None:
    assert_type(await client.list_wallets(), ListWalletsResponse)
    made = await client.create_wallet(wallet_name="w", accounts=[])
    assert_type(made, CreateWalletSubmitted)
    assert_type(await client.refresh(made), CreateWalletSubmitted)
    client.list_wallets().wallets  # type: ignore[attr-defined]  # noqa: B018


def making(stamper: CallbackStamper) -> None:
    assert_type(Client.from_env(timeout=3.0, retries=Retries(tries=1)), Client)
    assert_type(AsyncClient.from_credentials("credentials.json"), AsyncClient)
    Client("http://localhost", organization_id="o", stamper=stamper)
