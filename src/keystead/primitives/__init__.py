"""Cryptographic functions that neither the standard library nor `cryptography` has, one module for each library;
a bounded cache; the permissions that files with secrets may have.

Here: Keccak-256, RIPEMD-160, the curve secp256k1, HPKE, recovery ids of P-256, `lru`, `file_permissions`. Not here:
what is hashed, signed, sealed or cached, which key signs, and reading files.
"""
