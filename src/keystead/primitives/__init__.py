"""Cryptographic functions that neither the standard library nor `cryptography` has, one module for each library;
and a bounded cache.

Here: Keccak-256, RIPEMD-160, the curve secp256k1, HPKE, recovery ids of P-256, `lru`. Not here: what is hashed,
signed, sealed or cached, and which key signs.
"""
