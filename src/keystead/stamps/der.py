"""ECDSA signatures as ASN.1 DER, read as loosely as published clients write them.

Not here: checking a signature, and whether r and s are in range for a curve: verification refuses those.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

_SEQUENCE, _INTEGER = 0x30, 0x02


def read_ecdsa_signature(der: bytes) -> tuple[int, int]:
    """(r, s) of a SEQUENCE of two INTEGERs, which may have superfluous leading zero bytes.

    The Ethereum wallet stamper of the TypeScript SDK copies fixed-width halves into DER without trimming them, so
    about one of its signatures in 128 is not strict DER. Raises ValueError for anything else that is not DER: a
    negative integer, a wrong length, bytes after the end.
    """
    # Two numbers of 32 bytes never need the long form of a length, so a length byte above 127 is always wrong.
    if len(der) < 2 or der[0] != _SEQUENCE or der[1] != len(der) - 2 or der[1] > 0x7F:
        raise ValueError("not one ASN.1 sequence")
    r, end = _integer(der, 2)
    s, end = _integer(der, end)
    if end != len(der):
        raise ValueError("more than two integers in the sequence")
    return r, s


def _integer(der: bytes, at: int) -> tuple[int, int]:
    """The ASN.1 integer at this position, and the position after it."""
    start = at + 2
    if start >= len(der) or der[at] != _INTEGER:
        raise ValueError("not an ASN.1 integer")
    end = start + der[at + 1]
    if end == start or end > len(der):
        raise ValueError("an ASN.1 integer has no bytes, or ends after the signature")
    if der[start] > 0x7F:
        raise ValueError("negative integer")
    return int.from_bytes(der[start:end], "big"), end


def write_ecdsa_signature(r: int, s: int) -> bytes:
    """The signature as strict DER: the shortest encoding of r and s."""
    return encode_dss_signature(r, s)
