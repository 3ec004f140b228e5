"""Carries out the signer's calls: makes wallets and keys, derives accounts, signs, exports, imports.

This is the only code that handles plaintext key material, through `keystead.keys`. A secret that a call opens is
dropped when the call ends; between calls only public keys are cached. Not here: who may call, where sealed values
are stored, how a call reaches this process (`rpc`, `process`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage
from keystead.api.errors import Internal, Unavailable
from keystead.api.records import AppProof
from keystead.chains.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.keys.auth_proxy_keys import auth_proxy_signature, new_auth_proxy_key
from keystead.keys.bundles import BundleKey, bundle_of, new_credential
from keystead.keys.client_secrets import ClientSecretKey
from keystead.keys.derivation import KnownParents
from keystead.keys.exporting import wallet_text
from keystead.keys.importing import new_target, open_message, read_phrase, read_private_key
from keystead.keys.material import (
    Phrase,
    derive_accounts,
    make_wallet,
    open_signing_key,
    open_wallet,
    plan_accounts,
    private_key_context,
    require_all_encodable,
    seal_private_key,
    wallet_context,
)
from keystead.keys.mnemonic import entropy_bytes, entropy_from_mnemonic
from keystead.keys.one_time_codes import code_digest, message_context, new_otp_key, open_attempt
from keystead.keys.proof_key import ProofKey
from keystead.keys.public_keys import public_key
from keystead.keys.sealing import DataKey, Master, MasterKeyMissing, SealBroken
from keystead.keys.signatures import SignatureUnverified, signatures
from keystead.keys.steps import Steps, complete
from keystead.keys.token_signatures import TokenSigningKey
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline.ports import (
    AccountRequest,
    AuthProxyKey,
    BundleSigner,
    ClientMessage,
    CredentialBundle,
    DerivedAccount,
    ImportedPrivateKey,
    ImportedWallet,
    NewImportTarget,
    NewOtpTarget,
    NewPrivateKey,
    NewWallet,
    OtpAttempt,
    PublicInstallationKey,
    Sealed,
    SigningKey,
    WalletKey,
)
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from keystead.signer.fair_queue import FairQueue
from keystead.signer.installation_keys import (
    BUNDLE_KEY,
    CHECK_CONTEXT,
    CLIENT_SECRET_KEY,
    IDENTITY_KEY,
    INSTALLATION_KEYS,
    PROOF_KEY,
    SESSION_KEY,
    VERIFICATION_KEY,
    InstallationKey,
    SealedInstallationKeys,
    WrongMasterKey,
)

_CHECK_TEXT = b"keystead"

INLINE_STEPS_MAX: Final = 16
"""A call to sign with at most this many signatures and path segments does not queue: it takes less than a
slice."""


class LocalSigner:
    """Implements `pipeline.ports.Signer`.

    `installation_keys`: by name, as `new_installation_keys` makes them. A call that needs a missing key is
    refused. `entropy(n)` returns n random bytes for mnemonics and for these keys; a development server with a seed
    passes its own. Data keys, import targets, credentials and nonces always come from the operating system. Long
    work goes through `queue`; the signers of one process share it.

    Raises SealBroken if `master_key` does not open the installation keys.
    """

    def __init__(
        self,
        master_key: Master,
        installation_keys: Mapping[str, Sealed] = MappingProxyType({}),
        *,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
        queue: FairQueue | None = None,
    ) -> None:
        self._master_key = master_key
        self._entropy = entropy
        self._queue = queue or FairQueue()
        self._parents = KnownParents()
        opened = {
            key.name: master_key.open(installation_keys[key.name], key.context)
            for key in INSTALLATION_KEYS
            if key.name in installation_keys
        }
        self._published = tuple(
            _published(key, opened[key.name]) for key in INSTALLATION_KEYS if key.name in opened
        )
        self._proof_key = ProofKey(opened[PROOF_KEY.name]) if PROOF_KEY.name in opened else None
        self._bundle_key = BundleKey(opened[BUNDLE_KEY.name]) if BUNDLE_KEY.name in opened else None
        self._client_secret_key = (
            ClientSecretKey(opened[CLIENT_SECRET_KEY.name]) if CLIENT_SECRET_KEY.name in opened else None
        )
        self._token_keys = {
            key.name: TokenSigningKey(opened[key.name])
            for key in (SESSION_KEY, VERIFICATION_KEY, IDENTITY_KEY)
            if key.name in opened
        }

    def check_value(self) -> Sealed:
        """A constant sealed under the master key. It is stored with the data and tested at each start."""
        return self._master_key.seal(_CHECK_TEXT, CHECK_CONTEXT)

    def new_installation_keys(self) -> SealedInstallationKeys:
        """The sealed values of a new installation under this master key."""
        return SealedInstallationKeys(
            self.check_value(), {key.name: self.new_installation_key(key) for key in INSTALLATION_KEYS}
        )

    def new_installation_key(self, key: InstallationKey) -> Sealed:
        """One or two new P-256 scalars of 32 bytes, sealed under the master key."""
        scalars = [self._private_key(Curve.P256) for _ in range(2 if key.is_composite else 1)]
        return self._master_key.seal(b"".join(scalars), key.context)

    def opens(self, check: Sealed) -> bool:
        """Whether this master key sealed `check`, and therefore the data that is stored with it."""
        try:
            return self._master_key.open(check, CHECK_CONTEXT) == _CHECK_TEXT
        except SealBroken:
            return False

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
        """Raises the errors of the protocol, and SealBroken for the data key."""
        plan = plan_accounts(accounts)
        phrase = Phrase(self._entropy(entropy_bytes(mnemonic_length)))
        opened = self._open_data_key(data_key, organization_id)
        steps = make_wallet(opened, wallet_context(organization_id, wallet_id), phrase, plan)
        return await self._queue.run(organization_id, steps)

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
        """Make a wallet of an existing mnemonic, with its BIP-39 passphrase.

        Raises the errors of `create_wallet`, and InvalidRequest with `invalid mnemonic` in the message.
        """
        plan = plan_accounts(accounts)
        entropy, language = entropy_from_mnemonic(mnemonic)
        opened = self._open_data_key(data_key, organization_id)
        context = wallet_context(organization_id, wallet_id)
        steps = make_wallet(opened, context, Phrase(entropy, language, passphrase), plan)
        return await self._queue.run(organization_id, steps)

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        """Raises the errors of the protocol, and SealBroken for the data key and the mnemonic."""
        plan = plan_accounts(accounts)
        opened = self._open_data_key(data_key, organization_id)
        seed = open_wallet(opened, organization_id, wallet_id, sealed_mnemonic).seed
        return await self._queue.run(organization_id, derive_accounts(seed, plan))

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> NewPrivateKey:
        """Raises the errors of the protocol, and SealBroken for the data key."""
        require_all_encodable(curve, address_formats)
        opened = self._open_data_key(data_key, organization_id)
        context = private_key_context(organization_id, private_key_id)
        return seal_private_key(opened, context, curve, self._private_key(curve), address_formats)

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        """Raises the errors of the protocol, and SealBroken for the data key and the key."""
        opened = self._open_data_key(data_key, organization_id)
        steps = self._signatures(opened, organization_id, key, scheme, messages)
        if len(messages) <= INLINE_STEPS_MAX and _depth(key) <= INLINE_STEPS_MAX:
            return complete(steps)
        return await self._queue.run(organization_id, steps)

    def _signatures(
        self,
        data_key: DataKey,
        organization_id: str,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> Steps[tuple[Signature, ...]]:
        private_key = yield from open_signing_key(data_key, organization_id, key, self._parents)
        try:
            return (yield from signatures(key.curve, private_key, scheme, messages, public_key=key.public_key))
        except SignatureUnverified as wrong:
            self._parents.forget()  # a cached parent key may be the cause
            raise Internal(wrong.message) from None

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        return self._published

    async def sign_session_token(self, claims: SessionClaims) -> str:
        """Raises Internal if the server has no session key."""
        return self._token_key(SESSION_KEY).session_token(claims)

    async def sign_verification_token(self, token: VerificationToken) -> str:
        """Raises Internal if the server has no verification key."""
        return self._token_key(VERIFICATION_KEY).verification_token(token)

    async def new_credential_bundle(self, target: bytes) -> CredentialBundle:
        public_key, bundle = new_credential(target)
        return CredentialBundle(public_key.hex(), bundle)

    async def open_client_secret(self, envelope: bytes) -> bytes:
        """Raises the errors of the protocol, and Internal if the server has no client secret key."""
        if self._client_secret_key is None:
            raise Internal("this server has no key that OAuth2 client secrets are encrypted to")
        return self._client_secret_key.open(envelope)

    async def sign_oauth_token(
        self, *, claims: OauthTokenClaims, bearer_token: bytes | None, target: bytes | None
    ) -> str:
        """Raises Internal if the server has no identity key."""
        encrypted = bundle_of(bearer_token, target) if bearer_token is not None and target is not None else None
        return self._token_key(IDENTITY_KEY).oauth_token(claims, encrypted)

    async def new_auth_proxy_key(self, *, organization_id: str, data_key: Sealed, proxy_id: str) -> AuthProxyKey:
        """Raises SealBroken for the data key."""
        opened = self._open_data_key(data_key, organization_id)
        return new_auth_proxy_key(opened, organization_id, proxy_id, self._private_key(Curve.P256))

    async def sign_auth_proxy_request(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str, sealed_key: Sealed, body: bytes
    ) -> bytes:
        """Raises SealBroken for the data key and the proxy's key."""
        opened = self._open_data_key(data_key, organization_id)
        return auth_proxy_signature(opened, organization_id, proxy_id, sealed_key, body)

    async def new_otp_target(self, *, organization_id: str, data_key: Sealed, otp_id: str) -> NewOtpTarget:
        """Raises SealBroken for the data key, Internal if the server has no verification key."""
        opened = self._open_data_key(data_key, organization_id)
        sealed, point = new_otp_key(opened, organization_id, otp_id)
        return NewOtpTarget(sealed, self._token_key(VERIFICATION_KEY).otp_target(organization_id, point))

    async def open_otp_attempt(
        self, *, organization_id: str, data_key: Sealed, otp_id: str, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
        """Raises the errors of the protocol, and SealBroken for the data key and `sealed`."""
        opened = self._open_data_key(data_key, organization_id)
        return open_attempt(opened, organization_id, otp_id, sealed, message)

    async def code_digest(self, *, organization_id: str, data_key: Sealed, otp_id: str, code: str) -> bytes:
        """Raises SealBroken for the data key."""
        return code_digest(self._open_data_key(data_key, organization_id), organization_id, otp_id, code)

    async def seal_message(self, *, organization_id: str, data_key: Sealed, message_id: str, text: bytes) -> Sealed:
        """Raises SealBroken for the data key."""
        opened = self._open_data_key(data_key, organization_id)
        return opened.seal(text, message_context(organization_id, message_id))

    async def open_message(
        self, *, organization_id: str, data_key: Sealed, message_id: str, sealed: Sealed
    ) -> bytes:
        """Raises SealBroken for the data key and the message."""
        opened = self._open_data_key(data_key, organization_id)
        return opened.open(sealed, message_context(organization_id, message_id))

    async def bundle_signer(self) -> BundleSigner:
        """Raises Internal if the server has no bundle key."""
        key = self._require_bundle_key()
        return BundleSigner(key.signing_public_key, key.composite_public_key)

    async def new_import_target(
        self, *, organization_id: str, data_key: Sealed, target_id: str, kind: ImportKind, user_id: str
    ) -> NewImportTarget:
        """Raises SealBroken for the data key, Internal if the server has no bundle key."""
        opened = self._open_data_key(data_key, organization_id)
        return new_target(opened, self._require_bundle_key(), organization_id, target_id, kind, user_id)

    async def import_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        wallet_id: str,
        accounts: Sequence[AccountRequest],
    ) -> ImportedWallet:
        """Raises the errors of the protocol, and SealBroken for the data key and the targets."""
        plan = plan_accounts(accounts)
        opened = self._open_data_key(data_key, organization_id)

        def imported() -> Steps[ImportedWallet]:
            target_id, plaintext = yield from open_message(opened, organization_id, targets, message)
            phrase = read_phrase(plaintext)
            wallet = yield from make_wallet(opened, wallet_context(organization_id, wallet_id), phrase, plan)
            return ImportedWallet(target_id, wallet)

        return await self._queue.run(organization_id, imported())

    async def import_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> ImportedPrivateKey:
        """Raises the errors of the protocol, and SealBroken for the data key and the targets."""
        require_all_encodable(curve, address_formats)
        opened = self._open_data_key(data_key, organization_id)

        def imported() -> Steps[ImportedPrivateKey]:
            target_id, plaintext = yield from open_message(opened, organization_id, targets, message)
            secret = read_private_key(plaintext, curve)
            context = private_key_context(organization_id, private_key_id)
            return ImportedPrivateKey(target_id, seal_private_key(opened, context, curve, secret, address_formats))

        return await self._queue.run(organization_id, imported())

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
        secret = open_wallet(opened, organization_id, wallet_id, sealed_mnemonic)
        return bundle_key.export_bundle(organization_id, wallet_text(secret, language), target)

    async def export_key(self, *, organization_id: str, data_key: Sealed, key: SigningKey, target: bytes) -> str:
        """Raises SealBroken for the data key and the key, Internal if the server has no bundle key."""
        bundle_key, opened = self._require_bundle_key(), self._open_data_key(data_key, organization_id)

        def exported() -> Steps[str]:
            secret = yield from open_signing_key(opened, organization_id, key, self._parents)
            return bundle_key.export_bundle(organization_id, secret, target)

        return await self._queue.run(organization_id, exported())

    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        """Sign the UTF-8 bytes of each payload. Raises Internal if the server has no proof key."""
        if self._proof_key is None:
            raise Internal("this server has no proof key")
        return tuple(self._proof_key.prove(payload) for payload in payloads)

    def _open_data_key(self, sealed: Sealed, organization_id: str) -> DataKey:
        """Raises Unavailable if this process lacks the master key that sealed it, SealBroken if it was changed."""
        try:
            return self._master_key.open_data_key(sealed, organization_id)
        except MasterKeyMissing as missing:
            raise Unavailable(f"{missing}; sending the same request again is safe") from None

    def _token_key(self, key: InstallationKey) -> TokenSigningKey:
        if key.name not in self._token_keys:
            raise Internal(f"this server has no key that {key.use}")
        return self._token_keys[key.name]

    def _require_bundle_key(self) -> BundleKey:
        if self._bundle_key is None:
            raise Internal("this server has no bundle key")
        return self._bundle_key

    def _private_key(self, curve: Curve) -> bytes:
        """A private key of 32 bytes, by rejection sampling: reduction modulo the order would favour small
        scalars."""
        while True:
            candidate = self._entropy(PRIVATE_KEY_BYTES)
            if curve not in GROUP_ORDERS or 0 < int.from_bytes(candidate) < GROUP_ORDERS[curve]:
                return candidate


def open_signer(
    master_key: Master,
    sealed: SealedInstallationKeys,
    queue: FairQueue | None = None,
    *,
    entropy: Callable[[int], bytes] = secrets.token_bytes,
) -> LocalSigner:
    """The signer of the installation with these sealed values; `entropy` as LocalSigner takes it.

    Raises WrongMasterKey, SealBroken.
    """
    if not LocalSigner(master_key).opens(sealed.master_key_check):
        raise WrongMasterKey(f"the stored check value is under key {sealed.master_key_check.key_id!a}")
    return LocalSigner(master_key, sealed.keys, queue=queue, entropy=entropy)


def _published(key: InstallationKey, scalars: bytes) -> PublicInstallationKey:
    points = [
        public_key(Curve.P256, scalars[at : at + PRIVATE_KEY_BYTES]).uncompressed or b""
        for at in range(0, len(scalars), PRIVATE_KEY_BYTES)
    ]
    return PublicInstallationKey(
        name=key.name,
        use=key.use,
        public_key=points[-1].hex(),
        composite_public_key=b"".join(points).hex() if key.is_composite else None,
    )


def _depth(key: SigningKey) -> int:
    return key.path.count("/") if isinstance(key, WalletKey) else 0
