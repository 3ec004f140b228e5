"""The signer's part in one-time codes and messages: what it seals opens for the same record alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.chains.bundle_texts import read_message
from keystead.keys.sealing import MasterKey, SealBroken
from keystead.pipeline.signer_values import ClientMessage, OtpAttempt
from keystead.signer.installation_keys import VERIFICATION_KEY
from keystead.signer.local import LocalSigner, open_signer
from tests.support import bundles

MASTER = MasterKey.generate()
SIGNER = open_signer(MASTER, LocalSigner(MASTER).new_installation_keys())
VERIFICATION_POINT = next(
    key.public_key for key in asyncio.run(SIGNER.installation_keys()) if key.name == VERIFICATION_KEY.name
)
HOME: dict[str, Any] = {
    "organization_id": "home",
    "data_key": asyncio.run(SIGNER.new_data_key("home")),
}
ELSEWHERE: dict[str, Any] = {
    "organization_id": "elsewhere",
    "data_key": asyncio.run(SIGNER.new_data_key("elsewhere")),
}
PUBLIC_KEY = "02" + "ab" * 32


def client_message(text: str) -> ClientMessage:
    return ClientMessage(*read_message(text, "field"))


def test_an_attempt_opens_with_the_key_of_its_code_alone() -> None:
    target = asyncio.run(SIGNER.new_otp_target(otp_id="code", **HOME))
    attempt = bundles.otp_attempt(target.bundle, VERIFICATION_POINT, "home", "12AB", PUBLIC_KEY)
    message = client_message(attempt)
    opened = asyncio.run(SIGNER.open_otp_attempt(otp_id="code", sealed=target.sealed, message=message, **HOME))
    assert opened == OtpAttempt("12AB", PUBLIC_KEY)
    for place, otp_id in ((HOME, "another code"), (ELSEWHERE, "code")):
        with pytest.raises(SealBroken):
            asyncio.run(SIGNER.open_otp_attempt(otp_id=otp_id, sealed=target.sealed, message=message, **place))
    other = asyncio.run(SIGNER.new_otp_target(otp_id="code", **HOME))
    with pytest.raises(InvalidRequest, match="failed to decrypt bundle"):
        asyncio.run(SIGNER.open_otp_attempt(otp_id="code", sealed=other.sealed, message=message, **HOME))


MALFORMED = [
    b'{"otp_code": 1, "public_key": "02"}',
    b'{"otp_code": "1"}',
    b'{"otp_code": "%s", "public_key": "02"}' % (b"1" * 65),
    b'{"otp_code": "1", "public_key": null}',
]


@pytest.mark.parametrize(
    "plaintext",
    [b"", b"123456", b"\xff", b"[" * 2000, *MALFORMED],
    ids=lambda plaintext: repr(plaintext[:30]),
)
def test_what_is_no_attempt_is_refused_and_not_quoted(plaintext: bytes) -> None:
    target = asyncio.run(SIGNER.new_otp_target(otp_id="code", **HOME))
    point = bundles.trusted(target.bundle, VERIFICATION_POINT)["targetPublic"]
    message = client_message(bundles.message(plaintext, bytes.fromhex(point)))
    with pytest.raises(InvalidRequest, match="failed to decrypt bundle") as refused:
        asyncio.run(SIGNER.open_otp_attempt(otp_id="code", sealed=target.sealed, message=message, **HOME))
    assert "1" * 65 not in refused.value.message


def test_a_digest_belongs_to_one_code_of_one_organization() -> None:
    def digest(place: dict[str, Any], otp_id: str, code: str) -> bytes:
        return asyncio.run(SIGNER.code_digest(otp_id=otp_id, code=code, **place))

    assert digest(HOME, "code", "123456") == digest(HOME, "code", "123456")
    others = {digest(HOME, "code", "123457"), digest(HOME, "other", "123456"), digest(ELSEWHERE, "code", "123456")}
    assert len(others | {digest(HOME, "code", "123456")}) == 4


def test_a_message_opens_as_itself_alone() -> None:
    sealed = asyncio.run(SIGNER.seal_message(message_id="m", text=b"text", **HOME))
    assert b"text" not in sealed.ciphertext
    assert asyncio.run(SIGNER.open_message(message_id="m", sealed=sealed, **HOME)) == b"text"
    target = asyncio.run(SIGNER.new_otp_target(otp_id="m", **HOME)).sealed
    for place, message_id, value in ((HOME, "n", sealed), (ELSEWHERE, "m", sealed), (HOME, "m", target)):
        with pytest.raises(SealBroken):
            asyncio.run(SIGNER.open_message(message_id=message_id, sealed=value, **place))
