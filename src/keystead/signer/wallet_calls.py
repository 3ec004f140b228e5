"""The signer's calls about wallets and private keys: making, deriving accounts, signing.

Not here: imports and exports (`bundle_calls`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import Internal
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.keys import material
from keystead.keys.mnemonic import entropy_bytes, entropy_from_mnemonic
from keystead.keys.sealing import DataKey
from keystead.keys.signatures import SignatureUnverified, signatures
from keystead.keys.steps import Steps, complete
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline import signer_values
from keystead.signer.held_keys import HeldKeys

INLINE_STEPS_MAX: Final = 16
"""A call to sign with at most this many signatures and path segments does not queue: it takes less than a
slice."""


class WalletCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def new_data_key(self, organization_id: str) -> Sealed:
        return self._master_key.seal_data_key(DataKey.generate(), organization_id)

    async def create_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic_length: int,
        accounts: Sequence[signer_values.AccountRequest],
    ) -> signer_values.NewWallet:
        """Raises the errors of the protocol, and SealBroken for the data key."""
        plan = material.plan_accounts(accounts)
        phrase = material.Phrase(self._entropy(entropy_bytes(mnemonic_length)))
        opened = self._open_data_key(data_key, organization_id)
        steps = material.make_wallet(opened, material.wallet_context(organization_id, wallet_id), phrase, plan)
        return await self._long_calls.run(organization_id, steps)

    async def restore_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic: str,
        accounts: Sequence[signer_values.AccountRequest],
        passphrase: str = "",
    ) -> signer_values.NewWallet:
        """Make a wallet of an existing mnemonic, with its BIP-39 passphrase.

        Raises the errors of `create_wallet`, and InvalidRequest with `invalid mnemonic` in the message.
        """
        plan = material.plan_accounts(accounts)
        entropy, language = entropy_from_mnemonic(mnemonic)
        opened = self._open_data_key(data_key, organization_id)
        context = material.wallet_context(organization_id, wallet_id)
        steps = material.make_wallet(opened, context, material.Phrase(entropy, language, passphrase), plan)
        return await self._long_calls.run(organization_id, steps)

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[signer_values.AccountRequest],
    ) -> tuple[signer_values.DerivedAccount, ...]:
        """Raises the errors of the protocol, and SealBroken for the data key and the mnemonic."""
        plan = material.plan_accounts(accounts)
        opened = self._open_data_key(data_key, organization_id)
        seed = material.open_wallet(opened, organization_id, wallet_id, sealed_mnemonic).seed
        return await self._long_calls.run(organization_id, material.derive_accounts(seed, plan))

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> signer_values.NewPrivateKey:
        """Raises the errors of the protocol, and SealBroken for the data key."""
        material.require_all_encodable(curve, address_formats)
        opened = self._open_data_key(data_key, organization_id)
        context = material.private_key_context(organization_id, private_key_id)
        return material.seal_private_key(opened, context, curve, self._private_key(curve), address_formats)

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: signer_values.SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        """Raises the errors of the protocol, and SealBroken for the data key and the key."""
        opened = self._open_data_key(data_key, organization_id)
        steps = self._signatures(opened, organization_id, key, scheme, messages)
        if len(messages) <= INLINE_STEPS_MAX and _depth(key) <= INLINE_STEPS_MAX:
            return complete(steps)
        return await self._long_calls.run(organization_id, steps)

    def _signatures(
        self,
        data_key: DataKey,
        organization_id: str,
        key: signer_values.SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> Steps[tuple[Signature, ...]]:
        private_key = yield from material.open_signing_key(data_key, organization_id, key, self._parents)
        try:
            return (yield from signatures(key.curve, private_key, scheme, messages, public_key=key.public_key))
        except SignatureUnverified as wrong:
            self._parents.forget()  # a cached parent key may be the cause
            raise Internal(wrong.message) from None


def _depth(key: signer_values.SigningKey) -> int:
    return key.path.count("/") if isinstance(key, signer_values.WalletKey) else 0
