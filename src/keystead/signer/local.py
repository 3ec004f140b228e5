"""Carries out the signer's calls: makes wallets and keys, derives accounts, signs, exports, imports.

This and the modules of its parts are the only code that handles plaintext key material, through `keystead.keys`. A
secret that a call opens is dropped when the call ends; between calls only public keys are cached. Not here: who may
call, where sealed values are stored, how a call reaches this process (`rpc`, `process`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from keystead.keys.sealing import Master
from keystead.signer.bundle_calls import BundleCalls
from keystead.signer.installation_key_calls import InstallationKeyCalls, LoginCalls
from keystead.signer.installation_keys import SealedInstallationKeys, WrongMasterKey
from keystead.signer.long_calls import LongCalls
from keystead.signer.wallet_calls import WalletCalls


class LocalSigner(WalletCalls, BundleCalls, LoginCalls, InstallationKeyCalls):
    """Answers the calls of the signer, in the process that holds the master key.

    Implements `pipeline.signer_port.Signer`. Its parameters are those of `HeldKeys`."""


def open_signer(
    master_key: Master,
    sealed: SealedInstallationKeys,
    long_calls: LongCalls | None = None,
    *,
    entropy: Callable[[int], bytes] = secrets.token_bytes,
) -> LocalSigner:
    """The signer of the installation with these sealed values. `long_calls` and `entropy`: see `HeldKeys`.

    Raises WrongMasterKey, SealBroken.
    """
    if not LocalSigner(master_key).opens(sealed.master_key_check):
        given_ids = " and ".join(map(ascii, master_key.key_ids))
        used_ids = " and ".join(sorted({ascii(value.key_id) for value in sealed.values().values()}))
        raise WrongMasterKey(f"the given key is {given_ids}, the data is under {used_ids}")
    return LocalSigner(master_key, sealed.keys, long_calls=long_calls, entropy=entropy)
