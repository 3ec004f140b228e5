"""Session tokens, verification tokens, one-time codes: their texts and rules. Pure.

Here: the texts to sign and the comparisons. Not here: private keys (`signer`), records and activities
(`operations`), messages with codes (`delivery`), ID tokens of other issuers (`identities`).
"""
