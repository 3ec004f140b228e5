"""The signer's calls about encrypted bundles: imports and exports of wallets, keys and other secrets."""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage
from keystead.keys import importing, material
from keystead.keys.bundles import new_credential, wallet_text
from keystead.keys.steps import Steps
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline import signer_values
from keystead.signer.held_keys import HeldKeys


class BundleCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def bundle_signer(self) -> signer_values.BundleSigner:
        """Raises Internal if the server has no bundle key."""
        key = self._require_bundle_key()
        return signer_values.BundleSigner(key.signing_public_key, key.composite_public_key)

    async def new_credential_bundle(self, target: bytes) -> signer_values.CredentialBundle:
        public_key, bundle = new_credential(target)
        return signer_values.CredentialBundle(public_key.hex(), bundle)

    async def new_import_target(
        self, *, organization_id: str, data_key: Sealed, target_id: str, kind: ImportKind, user_id: str
    ) -> signer_values.NewImportTarget:
        """Raises SealBroken for the data key, Internal if the server has no bundle key."""
        opened = self._open_data_key(data_key, organization_id)
        return importing.new_target(opened, self._require_bundle_key(), organization_id, target_id, kind, user_id)

    async def import_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: signer_values.ClientMessage,
        wallet_id: str,
        accounts: Sequence[signer_values.AccountRequest],
    ) -> signer_values.ImportedWallet:
        """Raises the errors of the protocol, and SealBroken for the data key and the targets."""
        plan = material.plan_accounts(accounts)
        opened = self._open_data_key(data_key, organization_id)

        def import_steps() -> Steps[signer_values.ImportedWallet]:
            target_id, plaintext = yield from importing.open_message(opened, organization_id, targets, message)
            phrase = importing.read_phrase(plaintext)
            wallet = yield from material.make_wallet(
                opened, material.wallet_context(organization_id, wallet_id), phrase, plan
            )
            return signer_values.ImportedWallet(target_id, wallet)

        return await self._long_calls.run(organization_id, import_steps())

    async def import_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: signer_values.ClientMessage,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> signer_values.ImportedPrivateKey:
        """Raises the errors of the protocol, and SealBroken for the data key and the targets."""
        material.require_all_encodable(curve, address_formats)
        opened = self._open_data_key(data_key, organization_id)

        def import_steps() -> Steps[signer_values.ImportedPrivateKey]:
            target_id, plaintext = yield from importing.open_message(opened, organization_id, targets, message)
            secret = importing.read_private_key(plaintext, curve)
            context = material.private_key_context(organization_id, private_key_id)
            return signer_values.ImportedPrivateKey(
                target_id, material.seal_private_key(opened, context, curve, secret, address_formats)
            )

        return await self._long_calls.run(organization_id, import_steps())

    async def import_secret(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        target: ImportTarget,
        message: signer_values.ClientMessage,
        secret_id: str,
    ) -> Sealed:
        """Raises the errors of the protocol, and SealBroken for the data key and the target."""
        opened = self._open_data_key(data_key, organization_id)
        secret = importing.open_secret(opened, organization_id, target, message)
        return opened.seal(secret, importing.secret_context(organization_id, secret_id))

    async def export_secret(
        self, *, organization_id: str, data_key: Sealed, secret_id: str, sealed: Sealed, target: bytes
    ) -> str:
        """Raises SealBroken for the data key and the secret, Internal if the server has no bundle key."""
        bundle_key, opened = self._require_bundle_key(), self._open_data_key(data_key, organization_id)
        secret = opened.open(sealed, importing.secret_context(organization_id, secret_id))
        return bundle_key.export_bundle(organization_id, secret, target)

    async def export_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        language: MnemonicLanguage,
        target: bytes,
    ) -> str:
        """Raises SealBroken for the data key and the mnemonic, Internal if the server has no bundle key."""
        bundle_key, opened = self._require_bundle_key(), self._open_data_key(data_key, organization_id)
        secret = material.open_wallet(opened, organization_id, wallet_id, sealed_mnemonic)
        return bundle_key.export_bundle(organization_id, wallet_text(secret, language), target)

    async def export_key(
        self, *, organization_id: str, data_key: Sealed, key: signer_values.SigningKey, target: bytes
    ) -> str:
        """Raises SealBroken for the data key and the key, Internal if the server has no bundle key."""
        bundle_key, opened = self._require_bundle_key(), self._open_data_key(data_key, organization_id)

        def export_steps() -> Steps[str]:
            secret = yield from material.open_signing_key(opened, organization_id, key, self._parents)
            return bundle_key.export_bundle(organization_id, secret, target)

        return await self._long_calls.run(organization_id, export_steps())
