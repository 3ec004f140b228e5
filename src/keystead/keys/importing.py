"""Imports: the key to which a client seals, and the contents of the message that it sends.

Here: import targets, the mnemonics and private keys of clients. Not here: HPKE (`bundles`), which targets are open
(`organizations`).
"""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.keys.bundles import BundleBroken, BundleKey, open_sealed
from keystead.keys.material import Phrase
from keystead.keys.mnemonic import entropy_from_mnemonic
from keystead.keys.public_keys import new_p256_key, public_key
from keystead.keys.sealing import DataKey, Purpose, SealContext
from keystead.keys.steps import Steps
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline.signer_values import ClientMessage, NewImportTarget

_MARK = "\n--PASS--\n"
"""Clients put this between mnemonic and passphrase. Exports have only a line feed there."""


def new_target(
    data_key: DataKey, bundle_key: BundleKey, organization_id: str, target_id: str, kind: ImportKind, user_id: str
) -> NewImportTarget:
    """A new P-256 key pair: its sealed private half, and the signed bundle with its public half. Its randomness
    always comes from the operating system."""
    secret, key = new_p256_key()
    point = key.uncompressed
    assert point is not None
    return NewImportTarget(
        sealed=data_key.seal(secret, import_target_context(organization_id, target_id, kind, user_id)),
        import_bundle=bundle_key.import_bundle(organization_id, user_id, point),
        public_key=point.hex(),
    )


def open_message(
    data_key: DataKey, organization_id: str, targets: Sequence[ImportTarget], message: ClientMessage
) -> Steps[tuple[str, bytes]]:
    """The id of the first target that opens the message, and the plaintext.

    Raises InvalidRequest if no target opens it, SealBroken if a stored target was changed.
    """
    for target in targets:
        context = import_target_context(organization_id, target.id, target.kind, target.user_id)
        try:
            return target.id, open_sealed(
                data_key.open(target.sealed, context), message.encapped, message.ciphertext
            )
        except BundleBroken:
            yield
    raise InvalidRequest(
        "failed to decrypt bundle: field `parameters.encryptedBundle`: no key of the user's open imports of this "
        f"kind ({len(targets)}) opens it; seal it to the key in the answer to init_import_*"
    )


def open_secret(data_key: DataKey, organization_id: str, target: ImportTarget, message: ClientMessage) -> bytes:
    """The plaintext of a message that is sealed to this target. Raises InvalidRequest if the target does not open
    it, SealBroken if the stored target was changed."""
    context = import_target_context(organization_id, target.id, target.kind, target.user_id)
    try:
        return open_sealed(data_key.open(target.sealed, context), message.encapped, message.ciphertext)
    except BundleBroken:
        raise InvalidRequest(
            f"failed to decrypt bundle: a secret is not sealed to its target key {target.public_key}"
        ) from None


def secret_context(organization_id: str, secret_id: str) -> SealContext:
    """The context of an imported secret that is not a key."""
    return SealContext(Purpose.SECRET, organization_id=organization_id, record_id=secret_id)


def read_phrase(plaintext: bytes) -> Phrase:
    """A mnemonic in UTF-8, with its passphrase after a line `--PASS--`. Raises InvalidRequest: `invalid
    mnemonic`."""
    try:
        text = plaintext.decode()
    except UnicodeDecodeError:
        raise InvalidRequest("invalid mnemonic: the contents of the bundle are not UTF-8 text") from None
    mnemonic, _, passphrase = text.partition(_MARK)
    entropy, language = entropy_from_mnemonic(mnemonic)
    return Phrase(entropy, language, passphrase)


def read_private_key(plaintext: bytes, curve: Curve) -> bytes:
    """The 32 bytes of a key of this curve. Raises InvalidRequest: `invalid private key`."""
    try:
        public_key(curve, plaintext)
    except ValueError as wrong:
        raise InvalidRequest(f"invalid private key: {wrong}") from None
    return plaintext


def import_target_context(organization_id: str, target_id: str, kind: ImportKind, user_id: str) -> SealContext:
    """The context of a target, which opens only for this user and this kind of import."""
    return SealContext(
        Purpose.IMPORT_TARGET, organization_id=organization_id, record_id=f"{kind} {user_id} {target_id}"
    )
