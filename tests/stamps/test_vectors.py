"""Stamps made by published clients, each with the verdict it must get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keystead.api.errors import Unauthenticated
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.attestation import RegisteredPasskey, verify_attestation
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.schemes import eip191_digest
from keystead.stamps.webauthn import read_assertion, verify_assertion

FILE = json.loads((Path(__file__).parent.parent / "vectors" / "stamps.json").read_text(encoding="utf-8"))
VECTORS: list[dict[str, Any]] = FILE["vectors"]

ATTESTED = "X-Stamp-Attested"
"""What attests such a stamp is a token, which only a server verifies: `server/test_stamp_vectors`."""


@pytest.fixture(scope="module")
def registered() -> RegisteredPasskey:
    registration = FILE["webauthnRegistration"]
    attestation = registration["attestation"]
    return verify_attestation(
        registration["challenge"],
        attestation["credentialId"],
        attestation["clientDataJson"],
        attestation["attestationObject"],
    )


def test_registration(registered: RegisteredPasskey) -> None:
    expected = FILE["webauthnRegistration"]["expect"]
    assert registered.credential_id == encode_base64url(bytes.fromhex(expected["credentialIdHex"]))
    assert registered.credential_public_key == encode_base64url(bytes.fromhex(expected["cosePublicKeyHex"]))
    assert registered.aaguid == encode_base64url(bytes.fromhex(expected["aaguid"].replace("-", "")))
    assert registered.attestation_type == expected["fmt"]
    assert registered.sign_count == expected["signCount"]
    assert registered.model == "Security key"


def check(vector: dict[str, Any], registered: RegisteredPasskey) -> None:
    body = vector["body"].encode("utf-8")
    if vector["header"] == "X-Stamp":
        stamp = read_stamp(vector["value"])
        verify_stamp(stamp, body)
        assert stamp.public_key == vector["publicKey"]
        return
    assertion = read_assertion(vector["value"])
    if assertion.credential_id != registered.credential_id:
        raise Unauthenticated("credential ID could not be found")  # the caller's look-up
    verify_assertion(
        assertion, body, registered.credential_public_key, [vector["origin"]], rp_id_hash=registered.rp_id_hash
    )


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if v["header"] != ATTESTED], ids=lambda vector: str(vector["id"])
)
def test_vector(vector: dict[str, Any], registered: RegisteredPasskey) -> None:
    if vector["expected"] == "valid":
        check(vector, registered)
    else:
        with pytest.raises(Unauthenticated):
            check(vector, registered)


def test_every_header_has_vectors() -> None:
    assert {v["header"] for v in VECTORS} == {"X-Stamp", "X-Stamp-Webauthn", ATTESTED}


@pytest.mark.parametrize("vector", [v for v in VECTORS if "digest" in v], ids=lambda vector: str(vector["id"]))
def test_eip191_digest(vector: dict[str, Any]) -> None:
    assert eip191_digest(vector["body"].encode("utf-8")).hex() == vector["digest"]
