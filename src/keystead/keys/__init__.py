"""Key material: paths, mnemonics, derivation, addresses, sealing at rest, and the signer over them.

`signer` is the only door to plaintext keys; what passes it is public. Not here: who may use a key, and where
sealed keys are stored.
"""
