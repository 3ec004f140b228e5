"""The secrets of wallets and private keys: the sealed values, and the keys and accounts that are derived from
them.

Pure, except for the nonces of sealing. Work that grows with a request is done in steps (`steps`). Not here: the
calls (`signer.local`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage
from keystead.chains.addresses.formats import address, require_encodable
from keystead.chains.paths import check_total_depth, parse_path
from keystead.keys.derivation import DerivationTree, KnownParents
from keystead.keys.mnemonic import mnemonic_from_entropy, seed_from_mnemonic
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import DataKey, Purpose, SealContext
from keystead.keys.steps import Steps
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline import signer_values


class Phrase(msgspec.Struct, frozen=True):
    """What a wallet is made of: 16 to 32 bytes of entropy, the language of its words, the passphrase of BIP-39."""

    entropy: bytes
    language: MnemonicLanguage = MnemonicLanguage.ENGLISH
    passphrase: str = ""

    def __repr__(self) -> str:
        return "Phrase()"


class WalletSecret(msgspec.Struct, frozen=True):
    """The sealed value of a wallet, as JSON. It is stored: give new fields a default, and never reuse a name.

    `mnemonic` is in the `language` in which it was made. `seed` follows from it and the passphrase; it is stored
    so that a signature does not take the 2048 iterations of PBKDF2.
    """

    mnemonic: str
    seed: bytes
    passphrase: str = ""
    language: MnemonicLanguage = MnemonicLanguage.ENGLISH

    def __repr__(self) -> str:
        return "WalletSecret()"


_wallet_decoder = msgspec.json.Decoder(WalletSecret)


def wallet_context(organization_id: str, wallet_id: str) -> SealContext:
    return SealContext(Purpose.WALLET, organization_id=organization_id, record_id=wallet_id)


def private_key_context(organization_id: str, private_key_id: str) -> SealContext:
    return SealContext(Purpose.PRIVATE_KEY, organization_id=organization_id, record_id=private_key_id)


def open_wallet(data_key: DataKey, organization_id: str, wallet_id: str, sealed: Sealed) -> WalletSecret:
    """The mnemonic and the seed of a wallet. Raises SealBroken if the sealed value was changed."""
    plaintext = data_key.open(sealed, wallet_context(organization_id, wallet_id))
    return _wallet_decoder.decode(plaintext)


class PlannedAccount(msgspec.Struct, frozen=True):
    request: signer_values.AccountRequest
    segments: tuple[int, ...]


def plan_accounts(accounts: Sequence[signer_values.AccountRequest]) -> tuple[PlannedAccount, ...]:
    """Check and parse accounts. Raises InvalidRequest for accounts that cannot be derived, or are too many for one
    request."""
    check_total_depth([request.path for request in accounts])
    for request in accounts:
        require_encodable(request.curve, request.address_format)
    return tuple(PlannedAccount(request, parse_path(request.path)) for request in accounts)


def make_wallet(
    data_key: DataKey, context: SealContext, phrase: Phrase, plan: Sequence[PlannedAccount]
) -> Steps[signer_values.NewWallet]:
    """A sealed new wallet of this phrase, with the planned accounts, in one step for the seed and one or more for
    each account."""
    mnemonic = mnemonic_from_entropy(phrase.entropy, phrase.language)
    seed = seed_from_mnemonic(mnemonic, phrase.passphrase)
    yield
    secret = WalletSecret(mnemonic=mnemonic, seed=seed, passphrase=phrase.passphrase, language=phrase.language)
    accounts = yield from derive_accounts(seed, plan)
    return signer_values.NewWallet(
        sealed_mnemonic=data_key.seal(msgspec.json.encode(secret), context), accounts=accounts
    )


def derive_accounts(seed: bytes, plan: Sequence[PlannedAccount]) -> Steps[tuple[signer_values.DerivedAccount, ...]]:
    """The public keys and addresses of the planned accounts, in their order."""
    tree, derived = DerivationTree(seed), []
    for account in plan:
        request = account.request
        private_key = yield from tree.private_key(request.curve, account.segments)
        key = public_key(request.curve, private_key)
        derived.append(
            signer_values.DerivedAccount(
                request=request,
                public_key=key.compressed.hex(),
                address=address(key, request.address_format),
            )
        )
        yield
    return tuple(derived)


def require_all_encodable(curve: Curve, address_formats: Sequence[AddressFormat]) -> None:
    """Raise InvalidRequest for a format that the curve does not have. Call it before a key is made or read."""
    for address_format in address_formats:
        require_encodable(curve, address_format)


def seal_private_key(
    data_key: DataKey, context: SealContext, curve: Curve, secret: bytes, address_formats: Sequence[AddressFormat]
) -> signer_values.NewPrivateKey:
    """Seal a private key, with its addresses. Raises ValueError unless `secret` is a private key of the curve."""
    key = public_key(curve, secret)
    return signer_values.NewPrivateKey(
        sealed=data_key.seal(secret, context),
        public_key=(key.uncompressed or key.compressed).hex(),
        addresses=tuple(address(key, address_format) for address_format in address_formats),
    )


def open_signing_key(
    data_key: DataKey, organization_id: str, key: signer_values.SigningKey, parents: KnownParents
) -> Steps[bytes]:
    """The 32 bytes of an existing key. Raises SealBroken."""
    if isinstance(key, signer_values.WalletKey):
        seed = open_wallet(data_key, organization_id, key.wallet_id, key.sealed).seed
        # The ciphertext identifies the wallet: it was just opened, so it is authentic and holds this seed.
        tree = DerivationTree(seed, parents.of(key.sealed.ciphertext))
        return (yield from tree.private_key(key.curve, parse_path(key.path)))
    return data_key.open(key.sealed, private_key_context(organization_id, key.private_key_id))
