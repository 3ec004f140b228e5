"""The keys that serve one purpose each: other software verifies or opens what they make, and nothing opens in
another place or after a change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import ecdsa
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from keystead.api.errors import InvalidRequest
from keystead.keys.auth_proxy_keys import auth_proxy_signature, new_auth_proxy_key
from keystead.keys.client_secrets import ClientSecretKey
from keystead.keys.master_key_source import (
    KeyFile,
    KeyText,
    MasterKeySources,
    create_master_key,
    open_master_key,
    open_master_keys,
)
from keystead.keys.one_time_codes import code_digest, new_otp_key, open_attempt
from keystead.keys.proof_key import ProofKey, WebhookKey
from keystead.keys.sealing import DataKey, SealBroken
from keystead.keys.secret_files import MasterKeyError
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import ClientMessage, OtpAttempt
from keystead.primitives.hpke import seal
from keystead.sessions.webhook_signatures import key_id, signed_bytes
from tests.support.bundles import client_secret

ORGANIZATION, RECORD = "an organization", "a record"
SCALAR = bytes(range(1, 33))
DATA_KEY = DataKey.generate()


def damaged(sealed: Sealed) -> Sealed:
    return replace(sealed, ciphertext=sealed.ciphertext[:-1] + bytes([sealed.ciphertext[-1] ^ 1]))


def test_the_signature_of_an_auth_proxy() -> None:
    key = new_auth_proxy_key(DATA_KEY, ORGANIZATION, RECORD, SCALAR)
    signature = auth_proxy_signature(DATA_KEY, ORGANIZATION, RECORD, key.sealed, b"a body")
    public_key = ecdsa.VerifyingKey.from_string(bytes.fromhex(key.public_key), ecdsa.NIST256p, hashlib.sha256)
    assert public_key.verify(signature, b"a body", sigdecode=ecdsa.util.sigdecode_der)
    assert signature == auth_proxy_signature(DATA_KEY, ORGANIZATION, RECORD, key.sealed, b"a body")


Opening = Callable[[DataKey, str, str, Sealed], object]


def stamp_as_proxy(data_key: DataKey, organization_id: str, record_id: str, sealed: Sealed) -> object:
    return auth_proxy_signature(data_key, organization_id, record_id, sealed, b"a body")


def read_attempt(data_key: DataKey, organization_id: str, record_id: str, sealed: Sealed) -> object:
    return open_attempt(data_key, organization_id, record_id, sealed, ClientMessage(bytes(65), b""))


@pytest.mark.parametrize(
    ("opening", "sealed"),
    [
        (stamp_as_proxy, new_auth_proxy_key(DATA_KEY, ORGANIZATION, RECORD, SCALAR).sealed),
        (read_attempt, new_otp_key(DATA_KEY, ORGANIZATION, RECORD)[0]),
    ],
    ids=["the key of an auth proxy", "the key of a one-time code"],
)
def test_a_sealed_key_opens_in_its_place_alone(opening: Opening, sealed: Sealed) -> None:
    for data_key, organization_id, record_id, stored in (
        (DataKey.generate(), ORGANIZATION, RECORD, sealed),
        (DATA_KEY, "another", RECORD, sealed),
        (DATA_KEY, ORGANIZATION, "another", sealed),
        (DATA_KEY, ORGANIZATION, RECORD, damaged(sealed)),
        (DATA_KEY, ORGANIZATION, RECORD, replace(sealed, key_id="another")),
    ):
        with pytest.raises(SealBroken):
            opening(data_key, organization_id, record_id, stored)


def test_an_attempt_at_a_code() -> None:
    sealed, point = new_otp_key(DATA_KEY, ORGANIZATION, RECORD)

    def opened(plaintext: bytes, target: bytes = point) -> OtpAttempt:
        message = ClientMessage(*seal(plaintext, target))
        return open_attempt(DATA_KEY, ORGANIZATION, RECORD, sealed, message)

    assert opened(b'{"otp_code": "123456", "public_key": "02ab"}') == OtpAttempt("123456", "02ab")
    for malformed in (b"", b"{}", b'{"otp_code": 123456, "public_key": "02ab"}', b"\xff", b"[" * 10_000):
        with pytest.raises(InvalidRequest, match="expected"):
            opened(malformed)
    with pytest.raises(InvalidRequest, match="does not open with the key of this code"):
        opened(b"{}", new_otp_key(DATA_KEY, ORGANIZATION, RECORD)[1])


def test_the_digest_of_a_code_depends_on_all_that_it_is_for() -> None:
    digests = {
        code_digest(DATA_KEY, ORGANIZATION, RECORD, "123456"),
        code_digest(DATA_KEY, ORGANIZATION, RECORD, "123457"),
        code_digest(DATA_KEY, ORGANIZATION, "another", "123456"),
        code_digest(DATA_KEY, "another", RECORD, "123456"),
        code_digest(DataKey.generate(), ORGANIZATION, RECORD, "123456"),
    }
    assert len(digests) == 5
    assert code_digest(DATA_KEY, ORGANIZATION, RECORD, "123456") in digests


def test_a_client_secret() -> None:
    key = ClientSecretKey(SCALAR)
    point = ecdsa.SigningKey.from_string(SCALAR, ecdsa.NIST256p).verifying_key.to_string("uncompressed")
    envelope = bytes.fromhex(client_secret(b"a secret", point))
    assert key.open(envelope) == b"a secret"
    for place in (0, 12, 40, 77, len(envelope) - 1):  # nonce, ephemeral key, length, ciphertext
        changed = bytearray(envelope)
        changed[place] ^= 1
        with pytest.raises(InvalidRequest, match="invalid encrypted client secret"):
            key.open(bytes(changed))
    for cut in (b"", envelope[:12], envelope[:80], envelope + b"\0"):
        with pytest.raises(InvalidRequest, match="not an envelope"):
            key.open(cut)
    with pytest.raises(InvalidRequest, match="client_secret_key"):
        ClientSecretKey(bytes(31) + b"\1").open(envelope)


def test_the_signature_of_a_webhook() -> None:
    public_key = Ed25519PrivateKey.from_private_bytes(SCALAR).public_key()
    id_ = key_id(public_key.public_bytes_raw())
    signature = WebhookKey(SCALAR).sign(timestamp_ms=1, event_id="an event", body=b"{}")
    public_key.verify(signature, signed_bytes(id_, 1, "an event", b"{}"))
    for other in ((id_, 2, "an event", b"{}"), (id_, 1, "another", b"{}"), (id_, 1, "an event", b"[]")):
        with pytest.raises(InvalidSignature):
            public_key.verify(signature, signed_bytes(*other))


def test_an_app_proof() -> None:
    proof = ProofKey(SCALAR[::-1] + SCALAR).sign("a statement")
    signing = bytes.fromhex(proof.public_key)[65:]
    public_key = ecdsa.VerifyingKey.from_string(signing, ecdsa.NIST256p, hashlib.sha256)
    assert public_key.verify(bytes.fromhex(proof.signature), b"a statement")
    with pytest.raises(ecdsa.BadSignatureError):
        public_key.verify(bytes.fromhex(proof.signature), b"another statement")


def test_the_sources_of_master_keys(tmp_path: Path) -> None:
    file, text = KeyFile(str(tmp_path / "master.key")), KeyText("KEYSTEAD_MASTER_KEY", SCALAR.hex())
    made = create_master_key(file)
    assert open_master_key(file).key_id == made.key_id
    with pytest.raises(MasterKeyError, match="exists"):
        create_master_key(file)
    with pytest.raises(MasterKeyError, match="cannot be created in the environment variable KEYSTEAD_MASTER_KEY"):
        create_master_key(text)
    assert SCALAR.hex() not in repr(text)
    assert open_master_keys(MasterKeySources(text)).key_ids == (open_master_key(text).key_id,)
    both = open_master_keys(MasterKeySources(text, (file,)))
    assert both.key_ids == (open_master_key(text).key_id, made.key_id)
    sealed = made.seal_data_key(DATA_KEY, ORGANIZATION)
    assert both.open_data_key(sealed, ORGANIZATION).key_id == DATA_KEY.key_id
