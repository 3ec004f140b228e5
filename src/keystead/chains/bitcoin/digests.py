"""The digests that signatures of Bitcoin inputs sign, of the types that commit to the whole transaction.

Here: the digests of SIGHASH_ALL before and with SegWit (BIP-143), and of taproot's key path with SIGHASH_DEFAULT
(BIP-341). Other types are not signed. Not here: which input needs which digest (`transaction`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from keystead.chains.bitcoin.encoding import Transaction, TxOutput, compact_size, double_sha256, with_length

SIGHASH_DEFAULT: Final = 0
SIGHASH_ALL: Final = 1

_BLANK_INPUT_BYTES = 41


class Digests:
    """The digests of one transaction's inputs. The parts that inputs share are hashed once, not once for each."""

    def __init__(self, transaction: Transaction, spent: Sequence[TxOutput]) -> None:
        """`spent`: the output that each input spends, in the order of the inputs."""
        self._spent = spent
        self._inputs = transaction.inputs
        self._version = transaction.version.to_bytes(4, "little")
        self._locktime = transaction.locktime.to_bytes(4, "little")
        self._count = compact_size(len(transaction.inputs))
        self._outputs = b"".join(output.serialize() for output in transaction.outputs)
        self._output_count = compact_size(len(transaction.outputs))

    def legacy(self, index: int, script_code: bytes) -> bytes:
        """SIGHASH_ALL before SegWit: the transaction with `script_code` as the script of this input, and all other
        input scripts empty."""
        spending, at = self._inputs[index], index * _BLANK_INPUT_BYTES
        return double_sha256(
            b"".join(
                (
                    self._version,
                    self._count,
                    self._blank_inputs[:at],
                    spending.outpoint,
                    with_length(script_code),
                    spending.sequence.to_bytes(4, "little"),
                    self._blank_inputs[at + _BLANK_INPUT_BYTES :],
                    self._output_count,
                    self._outputs,
                    self._locktime,
                    SIGHASH_ALL.to_bytes(4, "little"),
                )
            )
        )

    def segwit(self, index: int, script_code: bytes) -> bytes:
        """SIGHASH_ALL of version 0 (BIP-143)."""
        spending = self._inputs[index]
        return double_sha256(
            b"".join(
                (
                    self._version,
                    hashlib.sha256(self._sha_outpoints).digest(),
                    hashlib.sha256(self._sha_sequences).digest(),
                    spending.outpoint,
                    with_length(script_code),
                    self._spent[index].satoshis.to_bytes(8, "little"),
                    spending.sequence.to_bytes(4, "little"),
                    hashlib.sha256(self._sha_outputs).digest(),
                    self._locktime,
                    SIGHASH_ALL.to_bytes(4, "little"),
                )
            )
        )

    def taproot(self, index: int) -> bytes:
        """SIGHASH_DEFAULT of the key path, without annex (BIP-341)."""
        epoch, spend_type = b"\0", b"\0"
        return _tagged_hash(
            "TapSighash",
            b"".join(
                (
                    epoch,
                    bytes([SIGHASH_DEFAULT]),
                    self._version,
                    self._locktime,
                    self._sha_outpoints,
                    self._sha_amounts,
                    self._sha_scripts,
                    self._sha_sequences,
                    self._sha_outputs,
                    spend_type,
                    index.to_bytes(4, "little"),
                )
            ),
        )

    @cached_property
    def _blank_inputs(self) -> bytes:
        return b"".join(
            spending.outpoint + b"\0" + spending.sequence.to_bytes(4, "little") for spending in self._inputs
        )

    @cached_property
    def _sha_outpoints(self) -> bytes:
        return hashlib.sha256(b"".join(spending.outpoint for spending in self._inputs)).digest()

    @cached_property
    def _sha_sequences(self) -> bytes:
        return hashlib.sha256(
            b"".join(spending.sequence.to_bytes(4, "little") for spending in self._inputs)
        ).digest()

    @cached_property
    def _sha_outputs(self) -> bytes:
        return hashlib.sha256(self._outputs).digest()

    @cached_property
    def _sha_amounts(self) -> bytes:
        return hashlib.sha256(b"".join(output.satoshis.to_bytes(8, "little") for output in self._spent)).digest()

    @cached_property
    def _sha_scripts(self) -> bytes:
        return hashlib.sha256(b"".join(with_length(output.script) for output in self._spent)).digest()


def _tagged_hash(tag: str, data: bytes) -> bytes:
    """The tagged hash of BIP-340: SHA-256 of the tag's hash, twice, and the data."""
    prefix = hashlib.sha256(tag.encode()).digest()
    return hashlib.sha256(prefix + prefix + data).digest()
