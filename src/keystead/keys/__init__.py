"""Secret key material: mnemonics, derivation, sealing at rest, signatures, bundles, master keys.

Only `keystead.signer` imports this package. Not here: public keys and addresses (`chains`), who may use a key, and
where sealed values are stored.
"""
