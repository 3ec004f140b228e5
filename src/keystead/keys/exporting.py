"""Exports: the plaintext that an export bundle carries.

Not here: the bundle itself (`bundles`), who may export.
"""

from __future__ import annotations

from keystead.api.enums import MnemonicLanguage
from keystead.keys.material import WalletSecret
from keystead.keys.mnemonic import entropy_from_mnemonic, mnemonic_from_entropy


def wallet_text(secret: WalletSecret, language: MnemonicLanguage) -> bytes:
    """The mnemonic as UTF-8, and after a line feed the passphrase, if the wallet has one.

    In another language than the wallet's own it carries the same entropy, but not the same seed: BIP-39 derives the
    seed from the words, so other software finds other accounts under them.
    """
    mnemonic = secret.mnemonic
    if language is not secret.language:
        mnemonic = mnemonic_from_entropy(entropy_from_mnemonic(mnemonic)[0], language)
    return "\n".join(filter(None, (mnemonic, secret.passphrase))).encode()
