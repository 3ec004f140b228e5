"""A master key that never leaves its PKCS#11 token: the token itself seals and opens, with AES-256-GCM.

Here: finding the key, the names and signatures of keys on the token, and the session, which is opened again after
the token lost it. Not here: the source of the PIN and the names (`master_key_source`). Needs the package
python-pkcs11 (the extra `pkcs11`) and the library of the token's vendor.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from keystead.api.enums import Curve
from keystead.api.errors import Unavailable
from keystead.keys.bundles import otp_target_bundle
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import Master, MasterKeyMissing, Purpose, SealBroken, SealContext, associated_data
from keystead.keys.secret_files import MasterKeyError, read_secret_file
from keystead.organizations.kinds.data_key import Sealed
from keystead.sessions import compact_jwt
from keystead.sessions.oauth_tokens import OauthTokenClaims, oauth_token_signing_input
from keystead.sessions.session_tokens import SessionClaims, session_message, session_signing_input
from keystead.sessions.verification_tokens import VerificationToken, verification_signing_input
from keystead.sessions.wallet_tokens import WalletToken, wallet_signing_input


class TokenKeyName(msgspec.Struct, frozen=True, kw_only=True, tag="token"):
    """A key that stays in a PKCS#11 token. `module` is the path of the library that calls it.

    The PIN of the token's user is `pin`, or the first line of `pin_file`.
    """

    module: str
    token: str
    key: str
    pin: str = ""
    pin_file: str = ""

    def __repr__(self) -> str:
        return f"TokenKeyName(module={self.module!r}, token={self.token!r}, key={self.key!r})"


if TYPE_CHECKING:
    import pkcs11

_NONCE_BYTES: Final = 12
_TAG_BITS: Final = 128
_KEY_BITS: Final = 256
_KEY_ID_DIGITS: Final = 16
_PIN_FILE_BYTES_MAX: Final = 256
_TRIAL = SealContext(Purpose.CHECK, record_id="trial")


class TokenKey(Master):
    """A key in a token. `key_id`: a hash of its label, its CKA_ID and its check value in the token.

    Raises Unavailable while the token does not answer. A lock guards the session, which carries out one call at a
    time.
    """

    def __init__(self, name: TokenKeyName) -> None:
        """Opens the key, and tests it: raises MasterKeyError if it does not open what it sealed."""
        self._name = name
        self._lock = threading.Lock()
        self._session: pkcs11.Session | None = None
        self._key: Any = None
        self._connect()
        self.key_id = _key_id(self._key)
        sealed = self.seal(b"trial", _TRIAL)
        if self.open(sealed, _TRIAL) != b"trial":
            raise MasterKeyError(f"{_description(name)} does not open what it sealed")

    def seal(self, plaintext: bytes, context: SealContext) -> Sealed:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._use(lambda key: key.encrypt(plaintext, **self._gcm(nonce, context)))
        return Sealed(key_id=self.key_id, ciphertext=nonce + sealed)

    def open(self, sealed: Sealed, context: SealContext) -> bytes:
        if sealed.key_id != self.key_id:
            raise MasterKeyMissing(
                f"sealed {context}: it is under key {sealed.key_id!a}, and this process has {self.key_id!a}"
            )
        nonce, body = sealed.ciphertext[:_NONCE_BYTES], sealed.ciphertext[_NONCE_BYTES:]
        if len(body) < _TAG_BITS // 8:
            raise SealBroken(f"sealed {context}: {len(sealed.ciphertext)} bytes are too few, it was cut off")
        try:
            return self._use(lambda key: key.decrypt(body, **self._gcm(nonce, context)))
        except Unavailable:
            # Tokens report a wrong tag with different errors. If the token still seals and opens, the tag was
            # wrong.
            trial = self.seal(b"trial", _TRIAL)
            nonce, body = trial.ciphertext[:_NONCE_BYTES], trial.ciphertext[_NONCE_BYTES:]
            self._use(lambda key: key.decrypt(body, **self._gcm(nonce, _TRIAL)))
            raise SealBroken(f"sealed {context}: it was changed, or belongs to another record") from None

    def __repr__(self) -> str:
        return f"TokenKey(key_id={self.key_id!r})"

    def _gcm(self, nonce: bytes, context: SealContext) -> dict[str, Any]:
        from pkcs11 import Mechanism
        from pkcs11.mechanisms import GCMParams

        parameters = GCMParams(nonce, associated_data(self.key_id, context), _TAG_BITS)
        return {"mechanism": Mechanism.AES_GCM, "mechanism_param": parameters}

    def _use(self, use: Callable[[Any], bytes]) -> bytes:
        """Call `use` with the open session. If that fails, call it once more with a new session, because a token
        that restarted has forgotten the login."""
        from pkcs11.exceptions import PKCS11Error

        with self._lock:
            try:
                return bytes(use(self._key))
            except PKCS11Error:
                try:
                    self._connect()
                    return bytes(use(self._key))
                except (PKCS11Error, MasterKeyError) as refused:
                    raise Unavailable(
                        f"the PKCS#11 token does not answer ({type(refused).__name__}); sending the same request "
                        "again is safe"
                    ) from None

    def _connect(self) -> None:
        self.close()
        self._session = _open_session(self._name)
        try:
            self._key = _find_key(self._session, self._name)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the session and its login. The next call opens a new session."""
        session, self._session = self._session, None
        if session is not None:
            _close(session)


def open_token_key(name: TokenKeyName) -> TokenKey:
    """Open a key. Raises MasterKeyError if the module, the token or the key does not exist, if the PIN is wrong,
    and if the key can be exported from the token."""
    return TokenKey(name)


def create_token_key(name: TokenKeyName) -> TokenKey:
    """Create a new key in the token, which cannot be exported. Raises MasterKeyError, also if the name is in
    use."""
    session = _open_session(name, writes=True)
    from pkcs11 import Attribute, KeyType
    from pkcs11.exceptions import PKCS11Error

    try:
        if _keys_named(session, name):
            raise MasterKeyError(f"{_description(name)} exists already and was not changed")
        session.generate_key(
            KeyType.AES,
            _KEY_BITS,
            id=os.urandom(8),
            label=name.key,
            store=True,
            template={Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False},
        )
    except PKCS11Error as refused:
        raise MasterKeyError(f"{_description(name)} cannot be created: {type(refused).__name__}") from None
    finally:
        _close(session)
    return TokenKey(name)


def _open_session(name: TokenKeyName, *, writes: bool = False) -> pkcs11.Session:
    try:
        import pkcs11
        from pkcs11.exceptions import PKCS11Error, UserAlreadyLoggedIn
    except ImportError:
        raise MasterKeyError("a PKCS#11 token needs another package: pip install 'keystead[pkcs11]'") from None
    pin = _pin(name)
    try:
        token = pkcs11.lib(name.module).get_token(token_label=name.token)
        try:
            return token.open(user_pin=pin, rw=writes)
        except UserAlreadyLoggedIn:  # a login is per process, and another key of the token has logged in
            return token.open(rw=writes)
    except (PKCS11Error, RuntimeError, OSError) as refused:
        # Only the type of the error is shown, because the library's text might hold the PIN.
        raise MasterKeyError(f"{_description(name)} cannot be reached: {type(refused).__name__}") from None


def _find_key(session: pkcs11.Session, name: TokenKeyName) -> Any:
    from pkcs11 import Attribute

    keys = _keys_named(session, name)
    if len(keys) != 1:
        problem = "the token has several keys of this name" if keys else "the token has no such key"
        raise MasterKeyError(f"{_description(name)}: {problem}")
    (key,) = keys
    if key.key_length != _KEY_BITS:
        raise MasterKeyError(f"{_description(name)} has {key.key_length} bits, not {_KEY_BITS}")
    if key[Attribute.EXTRACTABLE] or not key[Attribute.SENSITIVE]:
        raise MasterKeyError(
            f"{_description(name)} can be exported; create one that is sensitive and not extractable"
        )
    return key


def _keys_named(session: pkcs11.Session, name: TokenKeyName) -> list[Any]:
    from pkcs11 import Attribute, KeyType, ObjectClass

    wanted = {Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.KEY_TYPE: KeyType.AES, Attribute.LABEL: name.key}
    return list(session.get_objects(wanted))


def _key_id(key: Any) -> str:
    from pkcs11 import Attribute
    from pkcs11.exceptions import PKCS11Error

    try:
        check_value = bytes(key[Attribute.CHECK_VALUE])
    except (PKCS11Error, KeyError, NotImplementedError):
        check_value = b""
    parts = (b"keystead token key id", key.label.encode(), bytes(key.id), check_value)
    encoded = b"".join(len(part).to_bytes(4) + part for part in parts)
    return hashlib.sha256(encoded).hexdigest()[:_KEY_ID_DIGITS]


def _pin(name: TokenKeyName) -> str:
    if not name.pin_file:
        return name.pin
    content = read_secret_file(Path(name.pin_file), "PIN file", _PIN_FILE_BYTES_MAX)
    pin, _, _ = content.decode("ascii", errors="replace").strip().partition("\n")
    if not pin:
        raise MasterKeyError(f"PIN file {name.pin_file} is empty")
    return pin.strip()


def _close(session: pkcs11.Session) -> None:
    from pkcs11.exceptions import PKCS11Error

    with contextlib.suppress(PKCS11Error):
        session.close()


def _description(name: TokenKeyName) -> str:
    return f"key {name.key!a} of PKCS#11 token {name.token!a}"


class TokenSigningKey:
    """A P-256 key that signs tokens. `scalar`: 32 bytes. Raises ValueError unless it is a private key."""

    def __init__(self, scalar: bytes) -> None:
        self._key = ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1())
        self._public_key = (public_key(Curve.P256, scalar).uncompressed or b"").hex()

    def session_token(self, claims: SessionClaims) -> str:
        text = session_signing_input(claims)
        return compact_jwt.with_signature(text, self._signature(session_message(text)))

    def verification_token(self, token: VerificationToken) -> str:
        text = verification_signing_input(token)
        return compact_jwt.with_signature(text, self._signature(text))

    def wallet_token(self, token: WalletToken) -> str:
        text = wallet_signing_input(token)
        return compact_jwt.with_signature(text, self._signature(text))

    def otp_target(self, organization_id: str, target: bytes) -> str:
        """The bundle that gives a client the key `target` (65 bytes) to which it encrypts a one-time code."""
        return otp_target_bundle(organization_id, target, self._key, self._public_key)

    def oauth_token(self, claims: OauthTokenClaims, encrypted_bearer_token: str | None) -> str:
        text = oauth_token_signing_input(claims, encrypted_bearer_token)
        return compact_jwt.with_signature(text, self._signature(text))

    def _signature(self, message: bytes) -> bytes:
        """r and s over SHA-256 of the message, 32 bytes each."""
        r, s = decode_dss_signature(self._key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)
