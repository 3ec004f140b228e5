"""What goes over the wire: addresses, headers, exact bytes, stamps, types, times."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from keystead import ApiKeyStamper, CallbackStamper, Client, StampScheme, UsageError, generate_api_key
from keystead.api.enums import ApiKeyCurve
from keystead.client.requests import VERSION, whole_body
from keystead.client.shapes import AddressFormat, Curve, Pagination, PathFormat, WalletAccountParams
from keystead.primitives.secp256k1 import public_key
from keystead.stamps.api_key import read_stamp, verify_stamp
from tests.support import secp256k1
from tests.support.stub_server import BASE_URL, KEY, ORGANIZATION, ClientUnderTest, StubServer, activity, ok

OTHER = "0199a8f2-0000-7000-8000-000000000002"
ETHEREUM = WalletAccountParams(
    curve=Curve.SECP256K1,
    path_format=PathFormat.BIP32,
    path="m/44'/60'/0'/0/0",
    address_format=AddressFormat.ETHEREUM,
)
Make = Callable[..., ClientUnderTest]


def client(**options: Any) -> Client:
    return Client(BASE_URL, KEY.public_key, KEY.private_key, ORGANIZATION, **options)


def test_a_query(driven: Make) -> None:
    server = StubServer(ok({"accounts": []}))
    page = Pagination(limit="2")
    answer = driven(server).call(lambda c: c.list_wallet_accounts(wallet_id="w", pagination_options=page))
    assert answer.accounts == ()
    (request,) = server.requests
    assert (request.method, str(request.url)) == ("POST", f"{BASE_URL}/public/v1/query/list_wallet_accounts")
    assert json.loads(request.content) == {
        "organizationId": ORGANIZATION,
        "walletId": "w",
        "paginationOptions": {"limit": "2"},
    }
    assert request.headers["X-Client-Version"] == request.headers["User-Agent"] == f"keystead-python/{VERSION}"
    assert request.headers["Content-Type"] == "application/json"


def create_wallet(client: Any, accounts: list[Any]) -> Any:
    return client.create_wallet(wallet_name="w", accounts=accounts)


def test_objects_in_snake_case_go_out_as_the_wire_spells_them(driven: Make) -> None:
    """Records of the client, dicts in either spelling, and dicts within dicts, are the same bytes."""
    account = {"curve": Curve.SECP256K1, "path": ETHEREUM.path, "address_format": AddressFormat.ETHEREUM}
    spellings: list[list[Any]] = [
        [ETHEREUM],
        [account | {"path_format": PathFormat.BIP32}],
        [account | {"pathFormat": "PATH_FORMAT_BIP32"}],
    ]
    sent = []
    for accounts in spellings:
        server = StubServer(ok(activity()))
        driven(server).call(partial(create_wallet, accounts=accounts))
        sent.append(json.loads(server.requests[0].content)["parameters"])
    assert sent[0] == sent[1] == sent[2]
    assert sent[0]["accounts"][0]["pathFormat"] == "PATH_FORMAT_BIP32"


def test_a_submission(driven: Make) -> None:
    server = StubServer(ok(activity()))
    before_ms = int(time.time() * 1000)
    driven(server).call(
        lambda c: c.create_wallet(
            wallet_name="Schatz ☃", accounts=[ETHEREUM], organization_id=OTHER, generate_app_proofs=True
        )
    )
    (request,) = server.requests
    assert request.url.path == "/public/v1/submit/create_wallet"
    sent = json.loads(request.content)
    assert before_ms <= int(sent.pop("timestampMs")) < before_ms + 60_000
    assert sent == {
        "type": "ACTIVITY_TYPE_CREATE_WALLET",
        "organizationId": OTHER,
        "parameters": {
            "walletName": "Schatz ☃",
            "accounts": [
                {
                    "curve": "CURVE_SECP256K1",
                    "pathFormat": "PATH_FORMAT_BIP32",
                    "path": "m/44'/60'/0'/0/0",
                    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
                }
            ],
        },
        "generateAppProofs": True,
    }


def test_equal_submissions_are_different_bytes() -> None:
    asked = {"parameters": {"walletName": "w"}}
    made = client()
    bodies = {made.prepare("submit/create_wallet", asked).body for _ in range(200)}
    assert len(bodies) == 200


def test_names_unknown_to_this_client(driven: Make) -> None:
    server = StubServer(ok({"privateKeys": []}))
    assert driven(server).call(lambda c: c.query("list_private_keys", tag="p")) == {"privateKeys": []}
    driven(server).call(
        lambda c: c.submit("execute_swap", {"payload": "p"}, activity_type="ACTIVITY_TYPE_EXECUTE_SWAP_V2")
    )
    query, submission = (json.loads(request.content) for request in server.requests)
    assert query == {"organizationId": ORGANIZATION, "tag": "p"}
    assert (submission["type"], submission["parameters"]) == (
        "ACTIVITY_TYPE_EXECUTE_SWAP_V2",
        {"payload": "p"},
    )
    with pytest.raises(UsageError, match="execute_swap"):
        driven(server).call(lambda c: c.submit("execute_swap", {}))


def test_a_request_fills_in_what_is_left_out_and_nothing_else(driven: Make) -> None:
    server = StubServer(ok(activity("CONSENSUS_NEEDED")))
    given = {"type": "ACTIVITY_TYPE_CREATE_USERS_V2", "timestampMs": "7", "organizationId": OTHER, "parameters": {}}
    answer = driven(server).call(lambda c: c.request("/public/v1/submit/create_users", given))
    assert answer["activity"]["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    assert json.loads(server.requests[0].content) == given
    driven(server).call(lambda c: c.request("submit/create_users", {"parameters": {"users": []}}))
    assert json.loads(server.requests[1].content)["type"] == "ACTIVITY_TYPE_CREATE_USERS_V4"


def test_preparing_sends_nothing_and_stamps_the_body() -> None:
    prepared = client().prepare("query/list_wallets", {})
    assert prepared.url == f"{BASE_URL}/public/v1/query/list_wallets"
    assert prepared.body == f'{{"organizationId":"{ORGANIZATION}"}}'.encode()
    stamp = read_stamp(prepared.headers["X-Stamp"])
    assert stamp.public_key == KEY.public_key
    verify_stamp(stamp, prepared.body)


@pytest.mark.parametrize("base_url", ["https://keys.example.com", "https://keys.example.com/"])
def test_a_slash_after_the_base_url_is_one_slash(base_url: str) -> None:
    made = Client(base_url, KEY.public_key, KEY.private_key, ORGANIZATION)
    assert made.prepare("query/whoami", {}).url == "https://keys.example.com/public/v1/query/whoami"


@pytest.mark.parametrize("path", ["whoami", "query/", "query/../submit/x", "get/x", "query/x?y", ""])
def test_malformed_paths_are_refused(path: str) -> None:
    with pytest.raises(UsageError, match="expected a path such as"):
        client().prepare(path, {})


def test_any_sequence_is_a_list_on_the_wire() -> None:
    body = whole_body("query/x", {"numbers": range(2), "words": ("a",)}, "o", {})
    assert json.loads(body) == {"organizationId": "o", "numbers": [0, 1], "words": ["a"]}
    with pytest.raises(TypeError, match="a object cannot be sent"):
        whole_body("query/x", {"thing": object()}, "o", {})


@pytest.mark.parametrize("curve", list(ApiKeyCurve))
def test_keys_of_every_curve(driven: Make, curve: ApiKeyCurve) -> None:
    key = generate_api_key(curve, seed=b"any")
    server = StubServer(ok({"wallets": []}))
    driven(server, stamper=ApiKeyStamper(key.public_key, key.private_key, curve)).call(lambda c: c.list_wallets())
    assert read_stamp(server.requests[0].headers["X-Stamp"]).public_key == key.public_key
    by_halves = Client(BASE_URL, key.public_key, key.private_key, ORGANIZATION, curve=curve)
    prepared = by_halves.prepare("query/whoami", {})
    verify_stamp(read_stamp(prepared.headers["X-Stamp"]), prepared.body)


def test_a_key_that_is_stored_elsewhere(driven: Make) -> None:
    device = b"\x07" * 32
    digests: list[bytes] = []

    def sign(digest: bytes) -> bytes:
        digests.append(digest)
        return secp256k1.sign_der(device, digest)

    stamper = CallbackStamper(public_key(device).hex(), StampScheme.API_SECP256K1, sign)
    server = StubServer(ok({"wallets": []}))
    driven(server, stamper=stamper).call(lambda c: c.list_wallets())
    assert digests == [hashlib.sha256(server.requests[0].content).digest()]
