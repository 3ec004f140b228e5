"""The signer in the process of the server: makes wallets and keys, derives accounts, signs.

The only door to plaintext key material. A data key is opened for one call and then dropped: opening it takes
microseconds, so none is kept. Not here: whether a caller may ask, and where sealed values are stored.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from keystead.activities.ports import (
    AccountRequest,
    DerivedAccount,
    NewPrivateKey,
    NewWallet,
    Sealed,
    Signature,
    SignatureScheme,
    SigningKey,
    WalletKey,
)
from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import Internal
from keystead.api.records import AppProof
from keystead.keys.addresses import address, require_encodable
from keystead.keys.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES, public_key
from keystead.keys.derivation import derive_private_key
from keystead.keys.mnemonic import (
    entropy_bytes,
    entropy_from_mnemonic,
    mnemonic_from_entropy,
    seed_from_mnemonic,
)
from keystead.keys.paths import parse_path
from keystead.keys.sealing import DataKey, MasterKey, Purpose, SealBroken, SealContext
from keystead.keys.signatures import sign

PROOF_SCHEME = "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256"

_PROOF_KEY_CONTEXT = SealContext(Purpose.PROOF_KEY)
_CHECK_CONTEXT = SealContext(Purpose.CHECK)
_CHECK_TEXT = b"keystead"


class WalletSecret(msgspec.Struct, frozen=True):
    """What is sealed for a wallet, as JSON. Stored: add a field with a default, reuse none.

    `seed` follows from the other two; it is kept so that a signature does not cost 2048 rounds of PBKDF2.
    """

    mnemonic: str
    seed: bytes
    passphrase: str = ""

    def __repr__(self) -> str:
        return "WalletSecret()"


_wallet_decoder = msgspec.json.Decoder(WalletSecret)


class LocalSigner:
    """Implements `activities.ports.Signer`.

    `proof_key` comes from `new_proof_key`; without one nothing can be proved. `entropy(n)` gives n bytes and is
    where mnemonics and proof keys come from; only a development server that must come up with the same addresses
    each time passes its own. Data keys and nonces always come from the operating system.

    Raises SealBroken if `master_key` does not open `proof_key`.
    """

    def __init__(
        self,
        master_key: MasterKey,
        proof_key: Sealed | None = None,
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._master_key = master_key
        self._entropy = entropy
        self._proof_key = None if proof_key is None else _ProofKey(master_key.open(proof_key, _PROOF_KEY_CONTEXT))

    @property
    def master_key_id(self) -> str:
        return self._master_key.key_id

    def check_value(self) -> Sealed:
        """A constant sealed under the master key, to be stored beside the data and tried at the next start."""
        return self._master_key.seal(_CHECK_TEXT, _CHECK_CONTEXT)

    def opens(self, check: Sealed) -> bool:
        """Whether this master key sealed `check`, and so fits the data stored beside it."""
        try:
            return self._master_key.open(check, _CHECK_CONTEXT) == _CHECK_TEXT
        except SealBroken:
            return False

    def new_proof_key(self) -> Sealed:
        """Two fresh P-256 scalars (encryption, signing; 32 bytes each) sealed under the master key."""
        scalars = self._private_key(Curve.P256) + self._private_key(Curve.P256)
        return self._master_key.seal(scalars, _PROOF_KEY_CONTEXT)

    async def new_data_key(self, organization_id: str) -> Sealed:
        return self._master_key.seal_data_key(DataKey.generate(), organization_id)

    async def create_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic_length: int,
        accounts: Sequence[AccountRequest],
    ) -> NewWallet:
        """Make a wallet of a fresh mnemonic. Raises as the protocol says, and SealBroken for the data key."""
        plan = _plan(accounts)
        entropy = self._entropy(entropy_bytes(mnemonic_length))
        return await self._wallet(organization_id, data_key, wallet_id, entropy, "", plan)

    async def restore_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic: str,
        accounts: Sequence[AccountRequest],
        passphrase: str = "",
    ) -> NewWallet:
        """Make a wallet of a mnemonic that exists, with its BIP-39 passphrase.

        Raises as `create_wallet` does, and InvalidRequest with `invalid mnemonic` in the message.
        """
        plan = _plan(accounts)
        entropy = entropy_from_mnemonic(mnemonic)
        return await self._wallet(organization_id, data_key, wallet_id, entropy, passphrase, plan)

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        """Raises as the protocol says, and SealBroken for the data key and the mnemonic."""
        plan = _plan(accounts)
        opened = self._master_key.open_data_key(data_key, organization_id)
        seed = _opened_wallet(opened, organization_id, wallet_id, sealed_mnemonic).seed
        return await asyncio.to_thread(lambda: tuple(_derive(seed, account) for account in plan))

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> NewPrivateKey:
        """Raises as the protocol says, and SealBroken for the data key."""
        for address_format in address_formats:
            require_encodable(curve, address_format)
        secret = self._private_key(curve)
        key = public_key(curve, secret)
        opened = self._master_key.open_data_key(data_key, organization_id)
        return NewPrivateKey(
            sealed=opened.seal(secret, _private_key_context(organization_id, private_key_id)),
            public_key=(key.uncompressed or key.compressed).hex(),
            addresses=tuple(address(key, address_format) for address_format in address_formats),
        )

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        """Raises as the protocol says, and SealBroken for the data key and the key."""
        opened = self._master_key.open_data_key(data_key, organization_id)
        if isinstance(key, WalletKey):
            seed = _opened_wallet(opened, organization_id, key.wallet_id, key.sealed).seed
            secret = derive_private_key(key.curve, seed, parse_path(key.path))
        else:
            secret = opened.open(key.sealed, _private_key_context(organization_id, key.private_key_id))
        return sign(key.curve, secret, scheme, messages)

    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        """Sign the UTF-8 bytes of each payload. Raises Internal if the server has no proof key."""
        if self._proof_key is None:
            raise Internal("this server has no proof key")
        return tuple(self._proof_key.prove(payload) for payload in payloads)

    async def _wallet(
        self,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        entropy: bytes,
        passphrase: str,
        plan: Sequence[_PlannedAccount],
    ) -> NewWallet:
        opened = self._master_key.open_data_key(data_key, organization_id)
        context = _wallet_context(organization_id, wallet_id)
        # PBKDF2 takes a millisecond and releases the GIL; in a thread it leaves the event loop free.
        return await asyncio.to_thread(_make_wallet, opened, context, entropy, passphrase, plan)

    def _private_key(self, curve: Curve) -> bytes:
        """32 bytes. Rejection sampling: reducing modulo the order would favour small scalars."""
        while True:
            candidate = self._entropy(PRIVATE_KEY_BYTES)
            if curve not in GROUP_ORDERS or 0 < int.from_bytes(candidate) < GROUP_ORDERS[curve]:
                return candidate


def _wallet_context(organization_id: str, wallet_id: str) -> SealContext:
    return SealContext(Purpose.WALLET, organization_id=organization_id, record_id=wallet_id)


def _private_key_context(organization_id: str, private_key_id: str) -> SealContext:
    return SealContext(Purpose.PRIVATE_KEY, organization_id=organization_id, record_id=private_key_id)


def _opened_wallet(data_key: DataKey, organization_id: str, wallet_id: str, sealed: Sealed) -> WalletSecret:
    plaintext = data_key.open(sealed, _wallet_context(organization_id, wallet_id))
    return _wallet_decoder.decode(plaintext)


class _PlannedAccount(msgspec.Struct, frozen=True):
    request: AccountRequest
    segments: tuple[int, ...]


def _plan(accounts: Sequence[AccountRequest]) -> tuple[_PlannedAccount, ...]:
    """Refuse whatever cannot be derived before any key is made."""
    for request in accounts:
        require_encodable(request.curve, request.address_format)
    return tuple(_PlannedAccount(request, parse_path(request.path)) for request in accounts)


def _make_wallet(
    data_key: DataKey, context: SealContext, entropy: bytes, passphrase: str, plan: Sequence[_PlannedAccount]
) -> NewWallet:
    mnemonic = mnemonic_from_entropy(entropy)
    seed = seed_from_mnemonic(mnemonic, passphrase)
    secret = WalletSecret(mnemonic=mnemonic, seed=seed, passphrase=passphrase)
    return NewWallet(
        sealed_mnemonic=data_key.seal(msgspec.json.encode(secret), context),
        accounts=tuple(_derive(seed, account) for account in plan),
    )


def _derive(seed: bytes, account: _PlannedAccount) -> DerivedAccount:
    request = account.request
    key = public_key(request.curve, derive_private_key(request.curve, seed, account.segments))
    return DerivedAccount(
        request=request,
        public_key=key.compressed.hex(),
        address=address(key, request.address_format),
    )


class _ProofKey:
    """Signs statements. The encryption key has no use yet but to complete the 130 bytes of the public key."""

    def __init__(self, scalars: bytes) -> None:
        encryption, signing = scalars[:PRIVATE_KEY_BYTES], scalars[PRIVATE_KEY_BYTES:]
        points = (public_key(Curve.P256, encryption).uncompressed, public_key(Curve.P256, signing).uncompressed)
        self._public_key = b"".join(point for point in points if point is not None).hex()
        self._signing_key = ec.derive_private_key(int.from_bytes(signing), ec.SECP256R1())

    def prove(self, payload: str) -> AppProof:
        der = self._signing_key.sign(payload.encode(), ec.ECDSA(hashes.SHA256()))
        r, s = decode_dss_signature(der)
        return AppProof(
            scheme=PROOF_SCHEME,
            public_key=self._public_key,
            proof_payload=payload,
            signature=(r.to_bytes(32) + s.to_bytes(32)).hex(),
        )
