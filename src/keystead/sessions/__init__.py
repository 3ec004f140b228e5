"""Session tokens, verification tokens, one-time codes: their texts and rules. Pure.

Here: what is signed and what is compared. Not here: private keys (`signer`), records and activities (`operations`),
messages that carry codes (`delivery`), ID tokens of other issuers (`identities`).
"""
