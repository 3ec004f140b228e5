"""Stamps that prove nothing: 401 whatever the operation, and nothing written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from keystead.api.catalogue import Operation
from keystead.api.enums import ApiKeyCurve
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.support.callers import Caller, Headers, api_key_params, refusal
from tests.support.databases import Database
from tests.support.operation_examples import EXAMPLED, example_body
from tests.support.organization_fixtures import UNKNOWN_IDS
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Server, user_with_key

pytestmark = pytest.mark.one_engine

OFF_CURVE_P256 = "02" + "ff" * 32
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

Stamp = Callable[[Caller, bytes], Headers]


class Case(NamedTuple):
    name: str
    stamp: Stamp
    message: str
    machine_code: str = "SIGNATURE_INVALID"


def changed(**members: Any) -> Stamp:
    """A good stamp with members replaced, or (None) left out."""

    def stamp(caller: Caller, body: bytes) -> Headers:
        good = json.loads(decode_base64url(caller.stamped(body)["X-Stamp"]))
        kept = {name: value for name, value in (good | members).items() if value is not None}
        return {"X-Stamp": encode_base64url(json.dumps(kept).encode())}

    return stamp


def signature(change: Callable[[bytes], bytes]) -> Stamp:
    """A good stamp whose signature's bytes are changed."""

    def stamp(caller: Caller, body: bytes) -> Headers:
        good = json.loads(decode_base64url(caller.stamped(body)["X-Stamp"]))["signature"]
        return changed(signature=change(bytes.fromhex(good)).hex())(caller, body)

    return stamp


def value(text: str) -> Stamp:
    return lambda _, __: {"X-Stamp": text}


def by(key: ApiKeyPair) -> Stamp:
    return lambda caller, body: caller.with_key(key).stamped(body)


def passkey(**members: Any) -> Stamp:
    """An assertion by a passkey that nobody registered, with members replaced, or (None) left out."""

    def stamp(_: Caller, body: bytes) -> Headers:
        good = json.loads(SoftPasskey().stamp(body)["X-Stamp-WebAuthn"])
        kept = {name: value for name, value in (good | members).items() if value is not None}
        return {"X-Stamp-WebAuthn": json.dumps(kept)}

    return stamp


def _integer(number: int) -> bytes:
    raw = number.to_bytes(number.bit_length() // 8 + 1)
    return b"\x02" + bytes([len(raw)]) + raw


def _der(r: int, s: int) -> bytes:
    content = _integer(r) + _integer(s)
    return b"\x30" + bytes([len(content)]) + content


MALFORMED = "malformed activity stamp"
NO_STAMP = "could not extract api key stamp"
NOT_VERIFIED = "could not verify api key signature"
NO_ASSERTION = "could not extract webauthn stamp"

CASES = [
    Case("no stamp", lambda _, __: {}, "without a stamp", "SIGNATURE_MISSING"),
    Case("empty", value(""), MALFORMED),
    Case("no base64", value("{}"), MALFORMED),
    Case("the standard alphabet of base64", value("+//+"), MALFORMED),
    Case("cut off in the middle", lambda c, b: {"X-Stamp": c.stamped(b)["X-Stamp"][:41]}, MALFORMED),
    Case("no JSON", value(encode_base64url(b"publicKey=02")), MALFORMED),
    Case("JSON with invalid UTF-8", value(encode_base64url(b'{"publicKey":"\xff"}')), MALFORMED),
    Case("JSON but no object", value(encode_base64url(b"[]")), NO_STAMP),
    Case("nested 2,000 deep", value(encode_base64url(b'{"x":' + b"[" * 2000)), MALFORMED),
    Case("over-long", value("A" * 5000), MALFORMED),
    Case("without publicKey", changed(publicKey=None), NO_STAMP),
    Case("without scheme", changed(scheme=None), f"{NO_STAMP}: missing field `scheme`"),
    Case("without signature", changed(signature=None), NO_STAMP),
    Case("publicKey is a number", changed(publicKey=2), f"{NO_STAMP}: field `publicKey`: expected text, got a num"),
    Case("publicKey is not hex", changed(publicKey="zz" * 33), NO_STAMP),
    Case("publicKey is too short", changed(publicKey="02" * 32), NO_STAMP),
    Case("publicKey is uncompressed", changed(publicKey="04" + "11" * 64), NO_STAMP),
    Case("publicKey is not a point of the curve", changed(publicKey=OFF_CURVE_P256), NOT_VERIFIED),
    Case(
        "unknown scheme",
        changed(scheme="SIGNATURE_SCHEME_TK_API_RSA"),
        f"{NO_STAMP}: field `scheme`: unknown value 'SIGNATURE_SCHEME_TK_API_RSA': expected "
        "SIGNATURE_SCHEME_TK_API_P256 or SIGNATURE_SCHEME_TK_API_SECP256K1 or",
    ),
    Case("scheme in lower case", changed(scheme="signature_scheme_tk_api_p256"), NO_STAMP),
    Case("scheme of another curve", changed(scheme="SIGNATURE_SCHEME_TK_API_SECP256K1"), NOT_VERIFIED),
    Case(
        "EIP-191 scheme with a P-256 key", changed(scheme="SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191"), NOT_VERIFIED
    ),
    Case("Ed25519 scheme with a P-256 key", changed(scheme="SIGNATURE_SCHEME_TK_API_ED25519"), NO_STAMP),
    Case("signature is empty", changed(signature=""), NOT_VERIFIED),
    Case("signature is not hex", changed(signature="3045x"), f"{NOT_VERIFIED}: the signature is not hex"),
    Case("signature is not DER", signature(lambda good: b"\x31" + good[1:]), NOT_VERIFIED),
    Case("signature with bytes after it", signature(lambda good: good + b"\0"), NOT_VERIFIED),
    Case("signature cut short", signature(lambda good: good[:-1]), NOT_VERIFIED),
    Case("one bit of the signature is wrong", signature(lambda g: g[:-1] + bytes([g[-1] ^ 1])), NOT_VERIFIED),
    Case("r and s without DER", signature(lambda _: b"\x11" * 64), NOT_VERIFIED),
    Case("r is zero", signature(lambda _: _der(0, 1)), NOT_VERIFIED),
    Case("s is the order", signature(lambda _: _der(1, P256_ORDER)), NOT_VERIFIED),
    Case("r is negative", signature(lambda _: b"\x30\x06\x02\x01\x80\x02\x01\x01"), NOT_VERIFIED),
    Case("signed other bytes", lambda c, b: c.stamped(b + b"\n"), NOT_VERIFIED),
    Case("signed nothing", lambda c, _: c.stamped(b""), NOT_VERIFIED),
    Case("a key that nobody has", by(generate_api_key()), "could not find public key", "PUBLIC_KEY_NOT_FOUND"),
    Case(
        "a key on secp256k1 that nobody has",
        by(generate_api_key(ApiKeyCurve.SECP256K1)),
        "could not find public key",
        "PUBLIC_KEY_NOT_FOUND",
    ),
    Case("passkey: no JSON", lambda _, __: {"X-Stamp-WebAuthn": "e30"}, NO_ASSERTION),
    Case("passkey: base64 of JSON", lambda _, __: {"X-Stamp-WebAuthn": encode_base64url(b"{}")}, NO_ASSERTION),
    Case("passkey: without signature", passkey(signature=None), f"{NO_ASSERTION}: missing field `signature`"),
    Case("passkey: without authenticatorData", passkey(authenticatorData=None), NO_ASSERTION),
    Case("passkey: clientDataJson is not base64url", passkey(clientDataJson="{}"), NO_ASSERTION),
    Case("passkey: empty signature", passkey(signature=""), NO_ASSERTION),
    Case("passkey: over-long", passkey(more="A" * 13_000), NO_ASSERTION),
    Case("passkey: nobody has it", passkey(), "credential ID could not be found", "CREDENTIAL_NOT_FOUND"),
]


@pytest.mark.parametrize("name", ["query", "submission"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_stamp(case: Case, name: str, caller: Caller, database: Database) -> None:
    path, body = _request(caller, name)
    before = database.counts()
    response = caller.http.post(path, content=body, headers=case.stamp(caller, body))
    status, message = refusal(response)
    assert (status, case.message in message) == (401, True), message
    assert response.json()["details"][0]["turnkeyErrorCode"] == case.machine_code
    assert database.counts() == before


def _request(caller: Caller, kind: str) -> tuple[str, bytes]:
    if kind == "query":
        return "/public/v1/query/list_wallets", caller.query_body()
    return "/public/v1/submit/create_user_tag", caller.submit_body(
        "create_user_tag", {"userTagName": "x", "userIds": []}
    )


@pytest.mark.parametrize("operation", EXAMPLED, ids=lambda operation: operation.name)
def test_every_operation_wants_a_stamp(
    operation: Operation, caller: Caller, server: Server, database: Database
) -> None:
    stranger = server.installation.add_organization(user_with_key(foreign := generate_api_key()))
    assert caller.with_key(foreign, organization_id=stranger.id).asked("whoami")["organizationId"] == stranger.id
    body = example_body(caller, operation, UNKNOWN_IDS)
    before = database.counts()
    assert refusal(caller.http.post(operation.path, content=body))[0] == 401
    status, message = refusal(caller.with_key(foreign).post(operation.path, body))
    assert (status, foreign.public_key in message, caller.organization_id in message) == (401, True, True)
    assert database.counts() == before


@pytest.mark.parametrize("operation", EXAMPLED, ids=lambda operation: operation.name)
def test_unknown_organization(operation: Operation, caller: Caller, database: Database) -> None:
    nowhere = caller.with_key(caller.key, organization_id="0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d")
    before = database.counts()
    response = nowhere.post(operation.path, example_body(nowhere, operation, UNKNOWN_IDS))
    status, message = refusal(response)
    assert (status, response.json()["code"], nowhere.organization_id in message) == (404, 5, True), message
    assert database.counts() == before


@pytest.mark.parametrize(
    ("curve", "stamped_as"), [("API_KEY_CURVE_SECP256K1", "P-256"), ("API_KEY_CURVE_P256", "secp256k1")]
)
def test_key_on_record_under_another_curve(curve: str, stamped_as: str, caller: Caller) -> None:
    """33 bytes are a key of either curve; the one it is registered for decides."""
    key = generate_api_key(ApiKeyCurve.P256 if stamped_as == "P-256" else ApiKeyCurve.SECP256K1)
    params = api_key_params(key.public_key, curveType=curve, expirationSeconds="60")
    caller.submitted("create_api_keys", {"userId": caller.user_id, "apiKeys": [params]})
    status, message = refusal(caller.with_key(key).ask("whoami"))
    assert (status, "does not fit" in message) == (401, True), message


def test_expired_key(caller: Caller) -> None:
    key = generate_api_key()
    params = api_key_params(key.public_key, expirationSeconds="1")
    caller.submitted("create_api_keys", {"userId": caller.user_id, "apiKeys": [params]})
    expiring = caller.with_key(key)
    while (response := expiring.ask("whoami")).status_code == 200:
        time.sleep(0.05)
    status, message = refusal(response)
    assert (status, f"Unauthenticated desc = expired api key publicKey={key.public_key}" in message) == (401, True)
    assert response.json()["details"][0]["turnkeyErrorCode"] == "API_KEY_EXPIRED"
    assert refusal(expiring.submit("create_user_tag", {"userTagName": "x", "userIds": []}))[0] == 401
    held = caller.asked("get_user", userId=caller.user_id)["user"]["apiKeys"]
    assert key.public_key in [one["credential"]["publicKey"] for one in held]
