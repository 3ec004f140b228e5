"""X-Stamp-WebAuthn: what is read, what verifies, and that nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st
from webauthn.helpers import encode_cbor

from keystead.api.errors import Unauthenticated
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.cose import load_cose_key
from keystead.stamps.webauthn import SCHEME, challenge_of, read_assertion, verify_assertion

if TYPE_CHECKING:
    from tests.stamps.conftest import Passkey

BODY = b'{"organizationId":"7c7c2b9e-5bb4-4a3e-8f0e-0d0b4a6f9b11"}'
ORIGIN = "https://example.com"
RP_ID_HASH = sha256(b"example.com").digest()


def refusal(passkey: Passkey, value: str | bytes, *args: Any, body: bytes = BODY, **kwargs: Any) -> str:
    with pytest.raises(Unauthenticated) as refused:
        verify_assertion(read_assertion(value), body, passkey.public_key, *args, **kwargs)
    assert refused.value.machine_code == "SIGNATURE_INVALID"
    return refused.value.message


def test_the_documented_challenge() -> None:
    """The public documentation's example, of its whole body (the digest printed there misses the last brace)."""
    digest = "20f99754275f3d321b0eab1d0e7fa0b4207b08fd5fb694fa611635ff08a0bd8d"
    challenge = "MjBmOTk3NTQyNzVmM2QzMjFiMGVhYjFkMGU3ZmEwYjQyMDdiMDhmZDVmYjY5NGZhNjExNjM1ZmYwOGEwYmQ4ZA"
    assert encode_base64url(digest.encode()) == challenge
    assert decode_base64url(challenge_of(BODY)).decode() == sha256(BODY).hexdigest()
    assert len(challenge_of(BODY)) == 86


def test_the_scheme_a_vote_names() -> None:
    assert SCHEME == "SIGNATURE_SCHEME_TK_WEBAUTHN"


@dataclass(frozen=True)
class Accepted:
    name: str
    stamp: Callable[[Passkey], str | bytes]
    origins: tuple[str, ...] = ()
    rp_id_hash: bytes | None = None


def client(passkey: Passkey, **changed: Any) -> bytes:
    """clientDataJSON of an assertion over BODY; `changed` replaces, adds or (None) leaves out members."""
    members = {"type": "webauthn.get", "challenge": challenge_of(BODY), "origin": ORIGIN} | changed
    return json.dumps({name: value for name, value in members.items() if value is not None}).encode()


ACCEPTED = [
    Accepted("present and verified", lambda p: p.assertion(BODY)),
    Accepted("bytes, as a server has headers", lambda p: p.assertion(BODY).encode()),
    Accepted("present, not verified", lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP))),
    Accepted(
        "synced: backup eligible and backed up",
        lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP | p.BE | p.BS)),
    ),
    Accepted("counter zero", lambda p: p.assertion(BODY, data=p.authenticator_data(sign_count=0))),
    Accepted(
        "extensions",
        lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP | p.ED, tail=encode_cbor({"uvm": [[1, 2, 3]]}))),
    ),
    Accepted(
        "client data nobody knows",
        lambda p: p.assertion(
            BODY, client=client(p, crossOrigin=True, topOrigin="x", other={"keys_can_be": "added"})
        ),
    ),
    Accepted(
        "a native app's origin", lambda p: p.assertion(BODY, client=client(p, origin="android:apk-key-hash:a"))
    ),
    Accepted(
        "padded challenge", lambda p: p.assertion(BODY, client=client(p, challenge=challenge_of(BODY) + "=="))
    ),
    Accepted("a member nobody knows", lambda p: p.assertion(BODY, clientExtensionResults={})),
    Accepted("padded id", lambda p: p.assertion(BODY, credentialId=encode_base64url(p.credential_id) + "=")),
    Accepted(
        "any relying party where none is known", lambda p: p.assertion(BODY, data=p.authenticator_data(rp_id="a"))
    ),
    Accepted("origin and relying party as known", lambda p: p.assertion(BODY), (ORIGIN,), RP_ID_HASH),
    Accepted("one of several origins", lambda p: p.assertion(BODY), ("https://a.example", ORIGIN)),
]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", ["passkey", "rsa_passkey"])
def test_accepted(case: Accepted, kind: str, request: pytest.FixtureRequest) -> None:
    passkey: Passkey = request.getfixturevalue(kind)
    assertion = read_assertion(case.stamp(passkey))
    assert assertion.credential_id == encode_base64url(passkey.credential_id)
    verify_assertion(assertion, BODY, passkey.public_key, case.origins, rp_id_hash=case.rp_id_hash)


def test_the_counter_is_read(passkey: Passkey) -> None:
    data = passkey.authenticator_data(sign_count=0x01020304)
    assert read_assertion(passkey.assertion(BODY, data=data)).sign_count == 0x01020304


@dataclass(frozen=True)
class Refused:
    name: str
    stamp: Callable[[Passkey], str | bytes]
    says: str
    origins: tuple[str, ...] = ()
    rp_id_hash: bytes | None = None


UNREAD = "could not extract webauthn stamp"
UNVERIFIED = "could not verify WebAuthN signature"


def flip(text: str) -> str:
    data = decode_base64url(text)
    return encode_base64url(data[:-1] + bytes([data[-1] ^ 1]))


def tampered(passkey: Passkey, member: str) -> str:
    good = json.loads(passkey.assertion(BODY))
    return json.dumps(good | {member: flip(good[member])})


REFUSED = [
    Refused("empty", lambda p: "", UNREAD),
    Refused("not JSON", lambda p: "assertion", UNREAD),
    Refused("base64url of the JSON", lambda p: encode_base64url(p.assertion(BODY).encode()), UNREAD),
    Refused("a list", lambda p: "[]", UNREAD),
    Refused("not UTF-8", lambda p: b'{"credentialId":"\xff"}', UNREAD),
    Refused("nested without end", lambda p: '{"a":' + "[" * 9000, UNREAD),
    Refused("longer than any assertion", lambda p: p.assertion(BODY, comment="a" * 12288), UNREAD),
    Refused("no credentialId", lambda p: p.assertion(BODY, credentialId=None), UNREAD),
    Refused("no clientDataJson", lambda p: p.assertion(BODY, clientDataJson=None), UNREAD),
    Refused(
        "clientDataJson as the browser spells it",
        lambda p: p.assertion(BODY, clientDataJson=None, clientDataJSON=encode_base64url(client(p))),
        UNREAD,
    ),
    Refused("no authenticatorData", lambda p: p.assertion(BODY, authenticatorData=None), UNREAD),
    Refused("no signature", lambda p: p.assertion(BODY, signature=None), UNREAD),
    Refused("signature a number", lambda p: p.assertion(BODY, signature=1), UNREAD),
    Refused("signature empty", lambda p: p.assertion(BODY, signature=""), UNREAD),
    Refused("signature in the other base64", lambda p: p.assertion(BODY, signature="+/+/"), UNREAD),
    Refused("signature too long", lambda p: p.assertion(BODY, signature="A" * 1400), UNREAD),
    Refused(
        "credentialId too long", lambda p: p.assertion(BODY, credentialId=encode_base64url(bytes(1024))), UNREAD
    ),
    Refused("clientDataJson too long", lambda p: p.assertion(BODY, client=client(p, pad="a" * 4096)), UNREAD),
    Refused(
        "authenticatorData too long",
        lambda p: p.assertion(BODY, data=p.authenticator_data(tail=bytes(2048))),
        UNREAD,
    ),
    Refused("clientDataJson changed", lambda p: tampered(p, "clientDataJson"), UNVERIFIED),
    Refused("authenticatorData changed", lambda p: tampered(p, "authenticatorData"), UNVERIFIED),
    Refused("signature changed", lambda p: tampered(p, "signature"), UNVERIFIED),
    Refused(
        "signature of other bytes",
        lambda p: p.assertion(BODY, signature=encode_base64url(p.sign(BODY))),
        UNVERIFIED,
    ),
    Refused("client data not JSON", lambda p: p.assertion(BODY, client=b"webauthn.get"), UNVERIFIED),
    Refused("client data not UTF-8", lambda p: p.assertion(BODY, client=b'{"type":"\xff"}'), UNVERIFIED),
    Refused("client data a list", lambda p: p.assertion(BODY, client=b"[]"), UNVERIFIED),
    Refused("client data nested", lambda p: p.assertion(BODY, client=b'{"a":' + b"[" * 4000), UNVERIFIED),
    Refused("no type", lambda p: p.assertion(BODY, client=client(p, type=None)), UNVERIFIED),
    Refused(
        "type of a registration",
        lambda p: p.assertion(BODY, client=client(p, type="webauthn.create")),
        "webauthn.get",
    ),
    Refused("no challenge", lambda p: p.assertion(BODY, client=client(p, challenge=None)), UNVERIFIED),
    Refused("challenge empty", lambda p: p.assertion(BODY, client=client(p, challenge="")), "challenge"),
    Refused(
        "challenge of another body",
        lambda p: p.assertion(BODY, client=client(p, challenge=challenge_of(BODY + b" "))),
        "challenge",
    ),
    Refused(
        "challenge of the raw digest",
        lambda p: p.assertion(BODY, client=client(p, challenge=encode_base64url(sha256(BODY).digest()))),
        "challenge",
    ),
    Refused(
        "challenge of the hex itself",
        lambda p: p.assertion(BODY, client=client(p, challenge=sha256(BODY).hexdigest())),
        "challenge",
    ),
    Refused("no origin", lambda p: p.assertion(BODY, client=client(p, origin=None)), UNVERIFIED),
    Refused(
        "origin not listed", lambda p: p.assertion(BODY), "origin 'https://example.com'", ("https://a.example",)
    ),
    Refused("origin with another port", lambda p: p.assertion(BODY), "origin", ("https://example.com:8443",)),
    Refused(
        "another relying party",
        lambda p: p.assertion(BODY, data=p.authenticator_data(rp_id="evil.example")),
        "rpIdHash",
        rp_id_hash=RP_ID_HASH,
    ),
    Refused("user absent", lambda p: p.assertion(BODY, data=p.authenticator_data(p.UV)), "UP flag"),
    Refused(
        "backed up yet not eligible",
        lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP | p.BS)),
        UNVERIFIED,
    ),
    Refused("authenticator data cut", lambda p: p.assertion(BODY, data=p.authenticator_data()[:36]), UNVERIFIED),
    Refused("bytes behind", lambda p: p.assertion(BODY, data=p.authenticator_data(tail=b"\0")), UNVERIFIED),
    Refused(
        "extensions not there", lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP | p.ED)), UNVERIFIED
    ),
    Refused(
        "credential not there", lambda p: p.assertion(BODY, data=p.authenticator_data(p.UP | p.AT)), UNVERIFIED
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(case: Refused, passkey: Passkey) -> None:
    assert case.says in refusal(passkey, case.stamp(passkey), case.origins, rp_id_hash=case.rp_id_hash)


@pytest.mark.parametrize("kind", ["passkey", "rsa_passkey"])
def test_another_body_does_not_verify(kind: str, request: pytest.FixtureRequest) -> None:
    passkey: Passkey = request.getfixturevalue(kind)
    refusal(passkey, passkey.assertion(BODY), body=BODY + b"\n")


def test_another_key_does_not_verify(passkey: Passkey, rsa_passkey: Passkey) -> None:
    assert refusal(rsa_passkey, passkey.assertion(BODY)) == UNVERIFIED
    assert refusal(passkey, rsa_passkey.assertion(BODY)) == UNVERIFIED


@pytest.mark.parametrize("stored", ["", "AA", "not base64!", encode_base64url(encode_cbor({1: 2}))])
def test_a_stored_value_that_is_not_a_key_does_not_verify(stored: str, passkey: Passkey) -> None:
    with pytest.raises(Unauthenticated):
        verify_assertion(read_assertion(passkey.assertion(BODY)), BODY, stored)


@given(value=st.binary(max_size=300) | st.text(max_size=300))
def test_any_bytes_are_refused(value: str | bytes, passkey: Passkey) -> None:
    refusal(passkey, value)


@given(
    members=st.fixed_dictionaries(
        {
            "credentialId": st.binary(max_size=40).map(encode_base64url) | st.text(max_size=9),
            "clientDataJson": st.binary(max_size=40).map(encode_base64url)
            | st.dictionaries(st.sampled_from(["type", "challenge", "origin"]), st.text(max_size=9)).map(
                lambda members: encode_base64url(json.dumps(members).encode())
            ),
            "authenticatorData": st.binary(max_size=120).map(encode_base64url),
            "signature": st.binary(max_size=80).map(encode_base64url),
        }
    )
)
def test_any_members_are_refused(members: dict[str, str], passkey: Passkey) -> None:
    refusal(passkey, json.dumps(members))


@given(tail=st.binary(max_size=100), flags=st.integers(0, 255))
def test_any_authenticator_data_is_refused_or_consistent(tail: bytes, flags: int, passkey: Passkey) -> None:
    stamp = passkey.assertion(BODY, data=passkey.authenticator_data(flags, tail=tail))
    try:
        verify_assertion(read_assertion(stamp), BODY, passkey.public_key)
    except Unauthenticated:
        return
    assert flags & passkey.UP


# Keys


@dataclass(frozen=True)
class WrongKey:
    name: str
    cose: Callable[[Passkey, Passkey], bytes]
    """Makes the wrong key from the two passkeys, on P-256 and RSA."""
    says: str


WRONG_KEYS = [
    WrongKey("nothing", lambda p, r: b"", "not CBOR"),
    WrongKey("a number", lambda p, r: b"\x01", "not a map"),
    WrongKey("a bare uncompressed point", lambda p, r: b"\x04" + p.cose()[10:42] + p.cose()[45:77], "not a map"),
    WrongKey("ES384", lambda p, r: p.cose(alg=-35), "algorithm -35"),
    WrongKey("EdDSA", lambda p, r: p.cose(kty=1, alg=-8, crv=6, y=None), "algorithm -8"),
    WrongKey("RS256 labelled ES256", lambda p, r: r.cose(alg=-7), "key type 3"),
    WrongKey("RS1", lambda p, r: r.cose(alg=-65535), "algorithm -65535"),
    WrongKey("no algorithm", lambda p, r: p.cose(alg=None), "algorithm None"),
    WrongKey("a label that cannot be hashed", lambda p, r: p.cose(kty=[2]), "key type [2]"),
    WrongKey("P-384", lambda p, r: p.cose(crv=2), "curve 2"),
    WrongKey("x short", lambda p, r: p.cose(x=bytes(31)), "32 bytes"),
    WrongKey("y missing", lambda p, r: p.cose(y=None), "32 bytes"),
    WrongKey("y as its sign", lambda p, r: p.cose(y=True), "32 bytes"),
    WrongKey("a point off the curve", lambda p, r: p.cose(y=bytes(32)), "curve"),
    WrongKey("modulus missing", lambda p, r: r.cose(n=None), "modulus"),
    WrongKey("modulus of 1024 bits", lambda p, r: r.cose(n=b"\xff" * 128), "1024 bits"),
    WrongKey("modulus of 8000 bits", lambda p, r: r.cose(n=b"\xff" * 1000), "8000 bits"),
    WrongKey("exponent one", lambda p, r: r.cose(e=b"\x01"), ""),
    WrongKey("exponent even", lambda p, r: r.cose(e=b"\x02"), ""),
    WrongKey("exponent long", lambda p, r: r.cose(e=b"\x01" * 5), "4 bytes"),
    WrongKey("longer than any key", lambda p, r: r.cose(n=b"\xff" * 2000), "at most 1024"),
]


@pytest.mark.parametrize("case", WRONG_KEYS, ids=lambda case: case.name)
def test_a_key_of_another_kind_is_refused(case: WrongKey, passkey: Passkey, rsa_passkey: Passkey) -> None:
    with pytest.raises(ValueError) as refused:
        load_cose_key(case.cose(passkey, rsa_passkey))
    assert case.says in str(refused.value)


def test_keys_are_loaded(passkey: Passkey, rsa_passkey: Passkey) -> None:
    assert load_cose_key(passkey.cose()) == passkey.key.public_key()
    assert load_cose_key(rsa_passkey.cose()) == rsa_passkey.key.public_key()
    assert isinstance(load_cose_key(rsa_passkey.cose()), rsa.RSAPublicKey)


@given(cose=st.binary(max_size=100))
def test_any_bytes_are_a_key_or_a_value_error(cose: bytes) -> None:
    with pytest.raises(ValueError):
        load_cose_key(cose)
