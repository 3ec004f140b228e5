"""Signatures, exports and imports through the published Python client, held against independent libraries."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from solders.hash import Hash
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from tests.compatibility.live import Live
from tests.compatibility.test_python_client import ETHEREUM, SOLANA, api_key, client_with, new_key, sdk, unique
from tests.support import bundles, independent_ethereum

PHRASE = "abandon " * 11 + "about"
PHRASE_ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
PHRASE_KEY = "1ab42cc412b618bdea3a599e3c9bae199ebf030895b039e9db1e30dafb12b727"
UNSIGNED = "02e80180843b9aca008506fc23ac008252089408d2b0a37f869ff76bacb5bab3278e26ab7067b78080c0"


@pytest.fixture(scope="module")
def client(live: Live) -> Any:
    return client_with(live, live.api_public_key, live.api_private_key)


@pytest.fixture(scope="module")
def wallet(client: Any) -> Any:
    return client.create_wallet(sdk().CreateWalletBody(walletName=unique("wallet"), accounts=[ETHEREUM, SOLANA]))


@pytest.fixture(scope="module")
def trusted(live: Live) -> str:
    """The key that signs bundles, in hex."""
    with urllib.request.urlopen(f"{live.base_url}/bundle-signer") as answer:
        return str(json.load(answer)["signingPublicKey"])


def raw_payload(sign_with: str, payload: bytes, hashed: str) -> Any:
    return sdk().SignRawPayloadBody(
        signWith=sign_with,
        payload=payload.hex(),
        encoding="PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction=f"HASH_FUNCTION_{hashed}",
    )


def recovered(made: Any) -> str:
    """Who signed the message "hello"."""
    signature = bytes.fromhex(made.r + made.s) + bytes([27 + int(made.v)])
    return str(
        independent_ethereum.Account.recover_message(
            independent_ethereum.encode_defunct(text="hello"), signature=signature
        )
    )


HELLO = b"\x19Ethereum Signed Message:\n5hello"


def test_sign_raw_payload(client: Any, wallet: Any) -> None:
    ethereum, solana = wallet.addresses
    assert recovered(client.sign_raw_payload(raw_payload(ethereum, HELLO, "KECCAK256"))) == ethereum
    made = client.sign_raw_payload(raw_payload(solana, b"hello", "NOT_APPLICABLE"))
    signature = Signature.from_bytes(bytes.fromhex(made.r + made.s))
    assert signature.verify(Pubkey.from_string(solana), b"hello")


def test_sign_raw_payloads(client: Any, wallet: Any) -> None:
    address = wallet.addresses[1]
    messages = [b"one", b"two", b"three"]
    body = sdk().SignRawPayloadsBody(
        signWith=address,
        payloads=[message.hex() for message in messages],
        encoding="PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction="HASH_FUNCTION_NOT_APPLICABLE",
    )
    for made, message in zip(client.sign_raw_payloads(body).signatures, messages, strict=True):
        signature = Signature.from_bytes(bytes.fromhex(made.r + made.s))
        assert signature.verify(Pubkey.from_string(address), message)


def test_sign_transaction_of_ethereum(client: Any, wallet: Any) -> None:
    address = wallet.addresses[0]
    body = {"signWith": address, "unsignedTransaction": UNSIGNED, "type": "TRANSACTION_TYPE_ETHEREUM"}
    made = client.sign_transaction(sdk().SignTransactionBody(**body))
    assert independent_ethereum.Account.recover_transaction(made.signedTransaction) == address


def test_sign_transaction_of_solana(client: Any, wallet: Any) -> None:
    address = wallet.addresses[1]
    payer = Pubkey.from_string(address)
    pays = transfer(TransferParams(from_pubkey=payer, to_pubkey=Pubkey.new_unique(), lamports=5))
    unsigned = bytes(Transaction.new_unsigned(Message.new_with_blockhash([pays], payer, Hash.new_unique())))
    body = {"signWith": address, "unsignedTransaction": unsigned.hex(), "type": "TRANSACTION_TYPE_SOLANA"}
    made = client.sign_transaction(sdk().SignTransactionBody(**body))
    Transaction.from_bytes(bytes.fromhex(made.signedTransaction)).verify()


def test_a_signature_that_waits(live: Live, client: Any, wallet: Any) -> None:
    public_key, private_key = new_key()
    user = {"userName": unique("user"), "apiKeys": [api_key(public_key)]}
    empty: dict[str, Any] = {"authenticators": [], "oauthProviders": [], "userTags": []}
    (ana,) = client.create_users(sdk().CreateUsersBody(users=[user | empty])).userIds
    both = " && ".join(f"approvers.any(u, u.id == '{one}')" for one in (ana, live.user_id))
    policy = {"policyName": unique("both"), "effect": "EFFECT_ALLOW", "notes": ""}
    rule = {"consensus": both, "condition": "activity.action == 'SIGN'"}
    client.create_policy(sdk().CreatePolicyBody(**policy, **rule))
    with pytest.raises(sdk().TurnkeyActivityConsensusNeededError) as waits:
        body = raw_payload(wallet.addresses[0], HELLO, "KECCAK256")
        client_with(live, public_key, private_key).sign_raw_payload(body)
    assert waits.value.activity_type == "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"
    waiting = client.get_activity(sdk().GetActivityBody(activityId=waits.value.activity_id)).activity
    approved = client.approve_activity(sdk().ApproveActivityBody(fingerprint=waiting.fingerprint)).activity
    assert recovered(approved.result.signRawPayloadResult) == wallet.addresses[0]


def test_a_wallet_comes_in_and_goes_out(client: Any, live: Live, trusted: str) -> None:
    bundle = client.init_import_wallet(sdk().InitImportWalletBody(userId=live.user_id)).importBundle
    sealed = bundles.for_import(bundle, trusted, live.organization_id, live.user_id, PHRASE.encode())
    made = client.import_wallet(
        sdk().ImportWalletBody(
            userId=live.user_id, walletName=unique("wallet"), encryptedBundle=sealed, accounts=[ETHEREUM]
        )
    )
    assert made.addresses == [PHRASE_ADDRESS]
    key = bundles.fresh()
    target = bundles.point(key).hex()
    out = client.export_wallet(sdk().ExportWalletBody(walletId=made.walletId, targetPublicKey=target))
    assert bundles.exported(out.exportBundle, trusted, live.organization_id, key) == PHRASE.encode()
    body = sdk().ExportWalletAccountBody(address=PHRASE_ADDRESS, targetPublicKey=target)
    out = client.export_wallet_account(body)
    assert bundles.exported(out.exportBundle, trusted, live.organization_id, key).hex() == PHRASE_KEY


def test_a_private_key_comes_in_and_goes_out(client: Any, live: Live, trusted: str) -> None:
    bundle = client.init_import_private_key(sdk().InitImportPrivateKeyBody(userId=live.user_id)).importBundle
    secret = bytes.fromhex(PHRASE_KEY)
    made = client.import_private_key(
        sdk().ImportPrivateKeyBody(
            userId=live.user_id,
            privateKeyName=unique("key"),
            encryptedBundle=bundles.for_import(bundle, trusted, live.organization_id, live.user_id, secret),
            curve="CURVE_SECP256K1",
            addressFormats=["ADDRESS_FORMAT_ETHEREUM"],
        )
    )
    assert [one.address for one in made.addresses] == [PHRASE_ADDRESS]
    key = bundles.fresh()
    body = {"privateKeyId": made.privateKeyId, "targetPublicKey": bundles.point(key).hex()}
    out = client.export_private_key(sdk().ExportPrivateKeyBody(**body))
    assert bundles.exported(out.exportBundle, trusted, live.organization_id, key) == secret
