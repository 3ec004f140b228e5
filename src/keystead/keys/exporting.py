"""Exports: the plaintext in an export bundle.

Not here: the bundle itself (`bundles`), who may export.
"""

from __future__ import annotations

from keystead.api.enums import MnemonicLanguage
from keystead.keys.material import WalletSecret
from keystead.keys.mnemonic import entropy_from_mnemonic, mnemonic_from_entropy


def wallet_text(secret: WalletSecret, language: MnemonicLanguage) -> bytes:
    """The mnemonic in UTF-8; if the wallet has a passphrase, it follows after a line feed.

    A mnemonic in another language than the wallet's has the same entropy, but another seed: BIP-39 derives the
    seed from the words, so other software derives other accounts from them.
    """
    mnemonic = secret.mnemonic
    if language is not secret.language:
        mnemonic = mnemonic_from_entropy(entropy_from_mnemonic(mnemonic)[0], language)
    return "\n".join(filter(None, (mnemonic, secret.passphrase))).encode()
