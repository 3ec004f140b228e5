"""X-Stamp-Attested: reading the header, and the signature over the body. Tokens are tested with the server."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from keystead.api.errors import Unauthenticated
from keystead.stamps.attested import AttestedScheme, read_attested_stamp, verify_attested_stamp

FILE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "stamps.json").read_bytes())
VECTORS = [vector for vector in FILE["vectors"] if vector["scheme"].startswith("STAMP_ATTESTED")]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_the_body_is_signed_by_the_stamps_key(vector: dict[str, Any]) -> None:
    stamp = read_attested_stamp(vector["value"].encode())
    assert stamp.scheme == vector["scheme"]
    if vector["id"] == "attested-otp-body-changed":
        with pytest.raises(Unauthenticated):
            verify_attested_stamp(stamp, vector["body"].encode())
    else:
        verify_attested_stamp(stamp, vector["body"].encode())


GOOD = {
    "publicKey": "02" + "11" * 32,
    "scheme": AttestedScheme.OIDC,
    "signature": "30",
    "publicKeyAttestation": "a.b.c",
}


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="not JSON"),
        pytest.param(b"*", id="not base64url"),
        pytest.param(b"{" * 30_000, id="too long"),
        pytest.param(base64.urlsafe_b64encode(b"[" * 9_000), id="nested without end"),
        *[
            pytest.param(
                json.dumps({k: v for k, v in GOOD.items() if k != missing}).encode(), id=f"without {missing}"
            )
            for missing in GOOD
        ],
        pytest.param(json.dumps({**GOOD, "scheme": "SIGNATURE_SCHEME_TK_API_P256"}).encode(), id="another scheme"),
    ],
)
def test_malformed_headers(header: bytes) -> None:
    with pytest.raises(Unauthenticated):
        read_attested_stamp(header)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"publicKey": "02" + "ff" * 32}, id="not a point"),
        pytest.param({"publicKey": "zz"}, id="not hex"),
        pytest.param({"publicKey": "04" + "11" * 64}, id="uncompressed"),
        pytest.param({"signature": "00"}, id="not DER"),
        pytest.param({"signature": "zz"}, id="a signature that is not hex"),
        pytest.param({"publicKey": FILE["keys"]["p256"]["publicKey"]}, id="another key"),
    ],
)
def test_a_changed_stamp(changed: dict[str, str]) -> None:
    vector = VECTORS[0]
    members = json.loads(base64.urlsafe_b64decode(vector["value"] + "=="))
    stamp = read_attested_stamp(json.dumps({**members, **changed}).encode())
    with pytest.raises(Unauthenticated):
        verify_attested_stamp(stamp, vector["body"].encode())
