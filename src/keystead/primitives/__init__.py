"""Cryptographic functions that neither the standard library nor `cryptography` has: one module for each library.

Here: Keccak-256, RIPEMD-160, the curve secp256k1, recovery ids of P-256. Not here: what is hashed or signed, and
which key signs it.
"""
