"""Sealing: what opens, and that any change of key, place, purpose or byte is noticed and nothing leaks."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.keys.sealing import DataKey, MasterKey, MasterKeys, Purpose, SealBroken, SealContext
from keystead.organizations.kinds.data_key import Sealed

KEY = DataKey(bytes(range(32)))
CONTEXT = SealContext(Purpose.WALLET, organization_id="org-1", record_id="wallet-1")
PLAINTEXT = b"the quick brown fox"
SEALED = KEY.seal(PLAINTEXT, CONTEXT)


@settings(max_examples=30)
@given(plaintext=st.binary(max_size=300), organization_id=st.text(), record_id=st.text())
def test_opens_again(plaintext: bytes, organization_id: str, record_id: str) -> None:
    context = SealContext(Purpose.WALLET, organization_id=organization_id, record_id=record_id)
    sealed = KEY.seal(plaintext, context)
    assert KEY.open(sealed, context) == plaintext
    assert len(sealed.ciphertext) == 12 + len(plaintext) + 16


def test_layout_is_the_one_that_is_stored() -> None:
    """Values sealed by earlier versions must open: this one was made when the format was fixed."""
    stored = Sealed(
        key_id="52232eb36f70227f",
        ciphertext=bytes.fromhex(
            "c66743cea4e2c82f205e43c9bb25d7e94cd05ced770c67060829b259a0def7067ebd67a907f0171b44dc5521d8e6bb"
        ),
    )
    assert KEY.open(stored, CONTEXT) == PLAINTEXT


def test_the_same_seals_differently_each_time() -> None:
    assert len({KEY.seal(PLAINTEXT, CONTEXT).ciphertext[:12] for _ in range(100)}) == 100


def _changed(byte: int) -> Sealed:
    ciphertext = bytearray(SEALED.ciphertext)
    ciphertext[byte] ^= 1
    return msgspec.structs.replace(SEALED, ciphertext=bytes(ciphertext))


def _cut(length: int) -> Sealed:
    return msgspec.structs.replace(SEALED, ciphertext=SEALED.ciphertext[:length])


OTHER_KEY = DataKey.generate()


class Broken(NamedTuple):
    name: str
    key: DataKey | MasterKey = KEY
    sealed: Sealed = SEALED
    context: SealContext = CONTEXT


BROKEN = [
    Broken("another key", key=OTHER_KEY),
    Broken(
        "another key under the same name",
        sealed=Sealed(key_id=KEY.key_id, ciphertext=OTHER_KEY.seal(PLAINTEXT, CONTEXT).ciphertext),
    ),
    Broken("the name of another key", sealed=msgspec.structs.replace(SEALED, key_id=OTHER_KEY.key_id)),
    Broken("a master key of the same bytes", key=MasterKey(bytes(range(32)))),
    Broken("another organization", context=msgspec.structs.replace(CONTEXT, organization_id="org-2")),
    Broken("another record", context=msgspec.structs.replace(CONTEXT, record_id="wallet-2")),
    Broken("another purpose", context=msgspec.structs.replace(CONTEXT, purpose=Purpose.PROOF_KEY)),
    Broken("record and organization swapped", context=SealContext(Purpose.WALLET, "wallet-1", "org-1")),
    Broken("the border between ids moved", context=SealContext(Purpose.WALLET, "org-1w", "allet-1")),
    Broken("no record", context=SealContext(Purpose.WALLET, "org-1wallet-1", "")),
    Broken(
        "the value of another record",
        sealed=KEY.seal(PLAINTEXT, msgspec.structs.replace(CONTEXT, record_id="wallet-2")),
    ),
    Broken("empty", sealed=_cut(0)),
    Broken("the nonce alone", sealed=_cut(12)),
    Broken("one byte short of nonce and tag", sealed=_cut(27)),
    Broken("nonce and tag alone", sealed=_cut(28)),
    Broken("the last byte missing", sealed=_cut(len(SEALED.ciphertext) - 1)),
    Broken("one byte more", sealed=msgspec.structs.replace(SEALED, ciphertext=SEALED.ciphertext + b"\0")),
    *(Broken(f"bit flipped in byte {byte}", sealed=_changed(byte)) for byte in range(len(SEALED.ciphertext))),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_broken(case: Broken) -> None:
    with pytest.raises(SealBroken) as broken:
        case.key.open(case.sealed, case.context)
    message = str(broken.value)
    assert message.startswith(f"sealed {case.context.purpose}")
    assert "fox" not in message
    assert KEY._secret.hex() not in message
    assert broken.value.__cause__ is None


def test_data_key() -> None:
    master_key, data_key = MasterKey.generate(), DataKey.generate()
    sealed = master_key.seal_data_key(data_key, "org-1")
    assert master_key.open_data_key(sealed, "org-1").open(data_key.seal(PLAINTEXT, CONTEXT), CONTEXT) == PLAINTEXT
    with pytest.raises(SealBroken):
        master_key.open_data_key(sealed, "org-2")
    with pytest.raises(SealBroken):
        MasterKey.generate().open_data_key(sealed, "org-1")


def test_key_id_names_the_key_without_telling_it() -> None:
    secret = bytes(range(32))
    assert MasterKey(secret).key_id == MasterKey(secret).key_id
    assert len({MasterKey(secret).key_id, DataKey(secret).key_id, MasterKey.generate().key_id}) == 3
    assert len(MasterKey(secret).key_id) == 16
    assert MasterKey(secret).key_id not in secret.hex()


@pytest.mark.parametrize("show", [repr, str, "{}".format, lambda key: f"{key!r}"])
@pytest.mark.parametrize("key", [KEY, MasterKey(bytes(range(32)))])
def test_keys_do_not_show_themselves(key: DataKey | MasterKey, show: Callable[[object], str]) -> None:
    assert show(key) == f"{type(key).__name__}(key_id='{key.key_id}')"


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_key_of_another_length(size: int) -> None:
    with pytest.raises(ValueError, match=f"^a key has 32 bytes, not {size}$"):
        MasterKey(bytes(size))


SECRET = bytes(range(224, 256))
TEXTS = {
    "hex": SECRET.hex(),
    "hex, upper case": SECRET.hex().upper(),
    "with line end": SECRET.hex() + "\n",
    "with space around": f"  {SECRET.hex()}\r\n",
    "base64": base64.b64encode(SECRET).decode(),
    "base64 without padding": base64.b64encode(SECRET).decode().rstrip("="),
    "base64url": base64.urlsafe_b64encode(SECRET).decode(),
    "base64url without padding": base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_form(text: str) -> None:
    assert MasterKey.from_text(text).key_id == MasterKey(SECRET).key_id


def test_secret_text_reads_back() -> None:
    key = MasterKey.generate()
    assert MasterKey.from_text(key.secret_text()).key_id == key.key_id


NO_TEXTS = {
    "empty": "",
    "hex too short": SECRET.hex()[:-2],
    "hex too long": SECRET.hex() + "00",
    "hex with prefix": "0x" + SECRET.hex(),
    "hex in two lines": SECRET.hex()[:32] + "\n" + SECRET.hex()[32:],
    "base64 of 31 bytes": base64.b64encode(SECRET[:31]).decode(),
    "base64 of 33 bytes": base64.b64encode(SECRET + b"\0").decode(),
    "base64 with a space": base64.b64encode(SECRET).decode().replace("5", " ", 1) + "A",
    "two keys": f"{SECRET.hex()}\n{SECRET.hex()}",
    "words": "correct horse battery staple",
    "another script": "é" * 44,
}


@pytest.mark.parametrize("text", NO_TEXTS.values(), ids=NO_TEXTS.keys())
def test_no_text_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a master key is one line") as refusal:
        MasterKey.from_text(text)
    assert not text or text not in str(refusal.value)


def test_several_master_keys() -> None:
    """The first seals; each opens what it sealed, and nothing else."""
    new, old, third = (MasterKey.generate() for _ in range(3))
    keys = MasterKeys(new, [old])
    context = SealContext(Purpose.CHECK)
    assert keys.key_id == keys.seal(b"x", context).key_id == new.key_id
    for key in (new, old, keys):
        assert keys.open(key.seal(b"x", context), context) == b"x"
        with pytest.raises(SealBroken):
            keys.open(key.seal(b"x", context), SealContext(Purpose.PROOF_KEY))
    with pytest.raises(
        SealBroken, match=f"under key '{third.key_id}', and this process has '{new.key_id}' and '{old.key_id}'"
    ):
        keys.open(third.seal(b"x", context), context)
