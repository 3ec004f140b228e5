"""Attacks on the signer's time, over HTTP: what asks for too much is refused before the signer sees it."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, api_key_params, refusal, unique

pytestmark = pytest.mark.one_engine


def account(path: str) -> dict[str, Any]:
    return {
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": path,
        "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
    }


def wallet(**members: Any) -> tuple[str, dict[str, Any]]:
    return "create_wallet", {"walletName": unique("wallet"), "accounts": []} | members


def sub_organization(**members: Any) -> tuple[str, dict[str, Any]]:
    user: dict[str, Any] = {"userName": unique("user"), "apiKeys": [api_key_params(generate_api_key().public_key)]}
    user |= {"authenticators": [], "oauthProviders": []}
    return "create_sub_organization", {
        "subOrganizationName": unique("sub"),
        "rootUsers": [user],
        "rootQuorumThreshold": 1,
        "wallet": wallet(**members)[1],
    }


@pytest.mark.parametrize("length", [10**40, -(10**40), 2**63, -1, 0, 13])
@pytest.mark.parametrize("operation", [wallet, sub_organization])
def test_a_mnemonic_of_another_length(operation: Any, length: int, caller: Caller) -> None:
    status, message = refusal(caller.submit(*operation(mnemonicLength=length)))
    assert status == 400
    assert "invalid mnemonic length" in message


@pytest.mark.parametrize("operation", [wallet, sub_organization])
def test_a_thousand_accounts_255_deep(operation: Any, caller: Caller) -> None:
    accounts = [account(f"m/{number}" + "/0" * 254) for number in range(1_000)]
    status, message = refusal(caller.submit(*operation(accounts=accounts)))
    assert status == 400
    assert "have 255000 segments in all; at most 10000 are allowed" in message


def test_a_thousand_ordinary_accounts(caller: Caller) -> None:
    accounts = [account(f"m/44'/60'/0'/0/{number}") for number in range(1_000)]
    operation, parameters = wallet(accounts=accounts)
    assert len(caller.result(operation, parameters)["addresses"]) == 1_000


@pytest.mark.parametrize("operation", [wallet, sub_organization])
def test_too_many_accounts(operation: Any, caller: Caller) -> None:
    accounts = [account(f"m/44'/60'/0'/0/{number}") for number in range(1_001)]
    status, _ = refusal(caller.submit(*operation(accounts=accounts)))
    assert status == 400
