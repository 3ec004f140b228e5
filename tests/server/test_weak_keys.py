"""Attacks with Ed25519 keys of low order, over HTTP: anybody could sign with such a key, so none is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.stamps.test_ed25519 import WEAK
from tests.support.callers import Caller, refusal, unique, user_params

pytestmark = pytest.mark.one_engine

Attack = Callable[[Caller, dict[str, Any]], tuple[str, dict[str, Any]]]

ATTACKS: dict[str, Attack] = {
    "create_api_keys": lambda caller, key: ("create_api_keys", {"userId": caller.user_id, "apiKeys": [key]}),
    "create_users": lambda caller, key: ("create_users", {"users": [user_params("") | {"apiKeys": [key]}]}),
}


@pytest.mark.parametrize("public_key", WEAK.values(), ids=WEAK)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_weak_key_is_not_registered(attack: Attack, public_key: bytes, caller: Caller) -> None:
    key = {"apiKeyName": unique("key"), "publicKey": public_key.hex(), "curveType": "API_KEY_CURVE_ED25519"}
    status, message = refusal(caller.submit(*attack(caller, key)))
    assert status == 400
    assert "invalid api public key" in message
