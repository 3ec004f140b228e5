"""A master key in a PKCS#11 token, against SoftHSM 2. Skipped only where that library is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from keystead.api.errors import Unavailable
from keystead.keys.master_key_source import KeyFile, parse_source
from keystead.keys.sealing import DataKey, MasterKey, Purpose, SealBroken, SealContext
from keystead.keys.secret_files import MasterKeyError
from keystead.keys.token_key import TokenKey, TokenKeyName, create_token_key, open_token_key
from keystead.organizations.kinds.data_key import Sealed
from tests.support.softhsm import MODULE, PIN, needs_softhsm

CONTEXT = SealContext(Purpose.DATA_KEY, organization_id="one", record_id="one")


@pytest.fixture
def key(token: TokenKeyName) -> Iterator[TokenKey]:
    opened = open_token_key(token)
    yield opened
    opened.close()


@needs_softhsm
def test_seals_and_opens(key: TokenKey, token: TokenKeyName) -> None:
    data_key = DataKey.generate()
    sealed = key.seal_data_key(data_key, "one")
    assert sealed.key_id == key.key_id
    again = open_token_key(token)
    assert again.open_data_key(sealed, "one").key_id == data_key.key_id
    again.close()
    assert key.seal(b"x", CONTEXT) != key.seal(b"x", CONTEXT)


BROKEN: dict[str, Callable[[Sealed], Sealed]] = {
    "the nonce": lambda sealed: _flipped(sealed, 0),
    "the first byte": lambda sealed: _flipped(sealed, 12),
    "the tag": lambda sealed: _flipped(sealed, -1),
    "the length": lambda sealed: Sealed(sealed.key_id, sealed.ciphertext[:-1]),
    "too short for anything": lambda sealed: Sealed(sealed.key_id, b"short"),
    "another key": lambda sealed: Sealed(MasterKey.generate().key_id, sealed.ciphertext),
}


def _flipped(sealed: Sealed, index: int) -> Sealed:
    changed = bytearray(sealed.ciphertext)
    changed[index] ^= 1
    return Sealed(sealed.key_id, bytes(changed))


@needs_softhsm
@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_changed(change: Callable[[Sealed], Sealed], key: TokenKey) -> None:
    sealed = key.seal(b"secret", CONTEXT)
    with pytest.raises(SealBroken):
        key.open(change(sealed), CONTEXT)
    assert key.open(sealed, CONTEXT) == b"secret"


OTHER_PLACES = {
    "organization": replace(CONTEXT, organization_id="two"),
    "record": replace(CONTEXT, record_id="two"),
    "purpose": replace(CONTEXT, purpose=Purpose.WALLET),
}


@needs_softhsm
@pytest.mark.parametrize("context", OTHER_PLACES.values(), ids=OTHER_PLACES)
def test_moved(context: SealContext, key: TokenKey) -> None:
    sealed = key.seal(b"secret", CONTEXT)
    with pytest.raises(SealBroken, match="it was changed, or belongs to another record"):
        key.open(sealed, context)


@needs_softhsm
def test_key_stays_in_the_token(key: TokenKey) -> None:
    from pkcs11 import Attribute

    assert key._key[Attribute.SENSITIVE]
    assert not key._key[Attribute.EXTRACTABLE]


@needs_softhsm
def test_session_that_was_closed(key: TokenKey) -> None:
    """As after a restart of the token: the next call opens another."""
    sealed = key.seal(b"secret", CONTEXT)
    assert key._session is not None
    key._session.close()
    assert key.open(sealed, CONTEXT) == b"secret"


@needs_softhsm
def test_token_that_went_away(token: TokenKeyName, monkeypatch: pytest.MonkeyPatch) -> None:
    key = open_token_key(token)
    assert key._session is not None
    key._session.close()
    monkeypatch.setattr(key, "_name", replace(token, token="gone"))
    with pytest.raises(Unavailable, match="the PKCS#11 token does not answer"):
        key.seal(b"secret", CONTEXT)
    with pytest.raises(Unavailable):
        key.open(Sealed(key.key_id, bytes(60)), CONTEXT)


@needs_softhsm
def test_what_cannot_be_opened(token: TokenKeyName, tmp_path: Path) -> None:
    refused = {
        "no such key": replace(token, key="other"),
        "NoSuchToken": replace(token, token="other"),
        "PinIncorrect": replace(token, pin="secret"),
        "cannot be reached": replace(token, module="/nonexistent.so"),
        "does not exist": replace(token, pin_file=str(tmp_path / "missing")),
    }
    for message, name in refused.items():
        with pytest.raises(MasterKeyError, match=message) as error:
            open_token_key(name)
        assert "secret" not in str(error.value)
    with pytest.raises(MasterKeyError, match="exists already"):
        create_token_key(token)


@needs_softhsm
@pytest.mark.parametrize("attribute", ["EXTRACTABLE", "SENSITIVE"])
def test_key_that_could_be_read_out(attribute: str, token: TokenKeyName) -> None:
    import pkcs11

    name = replace(token, key=f"readable {attribute}")
    template = {pkcs11.Attribute.SENSITIVE: True, pkcs11.Attribute.EXTRACTABLE: False}
    template[pkcs11.Attribute[attribute]] = attribute == "EXTRACTABLE"
    with pkcs11.lib(MODULE).get_token(token_label=token.token).open(user_pin=PIN, rw=True) as session:
        session.generate_key(pkcs11.KeyType.AES, 256, label=name.key, store=True, template=template)
    with pytest.raises(MasterKeyError, match="can be exported"):
        open_token_key(name)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pkcs11", None)
    with pytest.raises(MasterKeyError, match=r"keystead\[pkcs11\]"):
        open_token_key(TokenKeyName(module="x", token="x", key="x", pin="x"))


URI = "pkcs11:token=my%20token;object=master?module-path=/usr/lib/x.so"
SOURCES = [
    ("/etc/keystead/master.key", "", KeyFile("/etc/keystead/master.key")),
    (URI, PIN, TokenKeyName(module="/usr/lib/x.so", token="my token", key="master", pin=PIN)),
    (
        f"{URI}&pin-source=file:/etc/pin",
        PIN,
        TokenKeyName(module="/usr/lib/x.so", token="my token", key="master", pin_file="/etc/pin"),
    ),
]


@pytest.mark.parametrize(("place", "pin", "source"), SOURCES)
def test_places(place: str, pin: str, source: object) -> None:
    assert parse_source(place, pin) == source


BAD_PLACES = {
    "pkcs11:object=x?module-path=/x": "lacks token",
    "pkcs11:token=x?module-path=/x": "lacks object",
    "pkcs11:token=x;object=y": "lacks module-path",
    "pkcs11:token=x;object=y;slot-id=1?module-path=/x": "unknown part: 'slot-id'",
    "pkcs11:token=x;object=y?module-path=/x&pin-value=secret": "must not hold the PIN",
    "pkcs11:token=x;object=y?module-path=/x": "no PIN for the PKCS#11 token",
}


@pytest.mark.parametrize(("place", "message"), BAD_PLACES.items())
def test_bad_places(place: str, message: str) -> None:
    with pytest.raises(MasterKeyError, match=message) as refused:
        parse_source(place)
    assert "secret" not in str(refused.value)


def test_names_do_not_show_their_pin() -> None:
    assert PIN not in repr(TokenKeyName(module="x", token="x", key="x", pin=PIN))


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660])
def test_a_pin_file_for_others_is_refused(mode: int, tmp_path: Path) -> None:
    """Before the token's library is loaded."""
    path = tmp_path / "pin"
    path.write_text(PIN)
    path.chmod(mode)
    with pytest.raises(MasterKeyError, match=f"PIN file .* has mode {mode:04o}") as refused:
        open_token_key(TokenKeyName(module="/nowhere.so", token="x", key="x", pin_file=str(path)))
    assert PIN not in str(refused.value)
