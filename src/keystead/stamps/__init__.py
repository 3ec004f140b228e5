"""Stamps: whether the holder of a key signed the exact bytes of a request. Pure, except `signing`, for clients.

`api_key`, `webauthn` and `attested` verify the three kinds of stamps; `attestation` verifies the registration of a
passkey. Not here: whose key it is (`organizations.principals`), which stamps a request may have
(`server.authentication`).
"""
