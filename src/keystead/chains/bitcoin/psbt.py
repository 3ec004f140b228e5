"""Partially signed Bitcoin transactions, version 0 (BIP-174, 371): maps of records, kept byte for byte.

Here: reading the maps and their records, what each input spends and how that is shown, writing a record into an
input's map. Existing records stay byte for byte, so unknown fields survive. Not here: which inputs are signed, and
how (`transaction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

import msgspec

from keystead.chains.addresses.bitcoin import ScriptKind
from keystead.chains.bitcoin import encoding
from keystead.chains.bitcoin.scripts import is_witness_program, kind_of
from keystead.chains.bounds import PSBT_TRANSACTION_BYTES_MAX
from keystead.chains.transaction import unparsable

_MAGIC: Final = b"psbt\xff"
_GLOBAL_TRANSACTION, _GLOBAL_VERSION = b"\x00", b"\xfb"


class InputKeyType(IntEnum):
    """The types of an input's records that signing reads."""

    NON_WITNESS_UTXO = 0x00
    WITNESS_UTXO = 0x01
    PARTIAL_SIG = 0x02
    SIGHASH_TYPE = 0x03
    REDEEM_SCRIPT = 0x04
    WITNESS_SCRIPT = 0x05
    FINAL_SCRIPTSIG = 0x07
    FINAL_SCRIPTWITNESS = 0x08
    TAP_KEY_SIG = 0x13
    TAP_SCRIPT_SIG = 0x14
    TAP_LEAF_SCRIPT = 0x15
    TAP_MERKLE_ROOT = 0x18


_KEYLESS = frozenset(InputKeyType) - {
    InputKeyType.PARTIAL_SIG,
    InputKeyType.TAP_SCRIPT_SIG,
    InputKeyType.TAP_LEAF_SCRIPT,
}

# Fields of version 2 only, which version 0 must not have (BIP-370).
_GLOBAL_LATER = range(0x02, 0x07)
_INPUT_LATER = range(0x0E, 0x13)
_OUTPUT_LATER = range(0x03, 0x05)


class _Map(msgspec.Struct, frozen=True):
    """The records of a map. `values`: by full key. `spans`: where each record begins and ends in the PSBT. `end`:
    the position of the separator."""

    values: Mapping[bytes, bytes]
    spans: Mapping[bytes, tuple[int, int]]
    end: int


class PsbtInput:
    """The records of one input. `number` counts from 0."""

    def __init__(self, number: int, records: _Map) -> None:
        self.number = number
        self._records = records

    def refusal(self, why: str) -> Exception:
        return unparsable(f"input {self.number}: {why}")

    def get(self, field: InputKeyType) -> bytes | None:
        """The value of a field that can occur once."""
        return self._records.values.get(bytes([field]))

    def has(self, field: InputKeyType) -> bool:
        return any(key[0] == field for key in self._records.values)

    def check_keys(self) -> None:
        for key in self._records.values:
            if key[0] in _KEYLESS and len(key) != 1:
                raise self.refusal(f"field {InputKeyType(key[0]).name.lower()} has key data")
            if key[0] == InputKeyType.PARTIAL_SIG and len(key) not in (34, 66):
                raise self.refusal("the key of a partial signature is not a public key")

    def place(self, key: bytes) -> tuple[int, int]:
        """The start and the end of the bytes of the PSBT that a record of this key replaces. For a new record they
        are equal: the position that keeps the keys in order."""
        spans = self._records.spans
        if key in spans:
            return spans[key]
        at = min((start for known, (start, _) in spans.items() if known > key), default=self._records.end)
        return at, at


class Psbt(msgspec.Struct, frozen=True):
    """A PSBT that was read to its end. `transaction_bytes`: the size of the unsigned transaction.

    `spent`: the output that each input spends. The whole previous transaction shows it, whose txid is checked. That
    of a Taproot input may be a claim of the sender: every Taproot signature commits to all of them.
    """

    data: bytes
    transaction: encoding.Transaction
    transaction_bytes: int
    inputs: tuple[PsbtInput, ...]
    spent: tuple[encoding.TxOutput, ...]

    def with_records(self, records: Mapping[int, tuple[bytes, bytes]]) -> bytes:
        """The PSBT with one more record, key and value, in the map of each of these inputs."""
        written, at = [], 0
        for number in sorted(records):
            key, value = records[number]
            start, end = self.inputs[number].place(key)
            written += [self.data[at:start], encoding.with_length(key), encoding.with_length(value)]
            at = end
        return b"".join([*written, self.data[at:]])


def read_psbt(data: bytes) -> Psbt:
    """The PSBT in `data`. Raises InvalidRequest unless it is of version 0 and says what each input spends."""
    if not data.startswith(_MAGIC):
        raise unparsable("not a PSBT: it does not begin with 70736274ff")
    reader = encoding.Reader(data, "the PSBT")
    reader.take(len(_MAGIC))
    overall = _read_map(reader, "the global map", _GLOBAL_LATER)
    if int.from_bytes(overall.values.get(_GLOBAL_VERSION, b""), "little"):
        raise unparsable("only version 0 of PSBT is supported")
    unsigned = overall.values.get(_GLOBAL_TRANSACTION)
    if unsigned is None:
        raise unparsable("the global map has no unsigned transaction")
    if len(unsigned) > PSBT_TRANSACTION_BYTES_MAX:
        raise unparsable(
            f"the unsigned transaction: {len(unsigned)} bytes, at most {PSBT_TRANSACTION_BYTES_MAX} are allowed"
        )
    transaction = encoding.read_unsigned(unsigned)
    inputs = tuple(
        PsbtInput(number, _read_map(reader, f"input {number}", _INPUT_LATER))
        for number in range(len(transaction.inputs))
    )
    for number in range(len(transaction.outputs)):
        _read_map(reader, f"output {number}", _OUTPUT_LATER)
    reader.finish()
    for psbt_input in inputs:
        psbt_input.check_keys()
    spent = tuple(_spent_output(psbt_input, transaction) for psbt_input in inputs)
    return Psbt(data, transaction, len(unsigned), inputs, spent)


def _read_map(reader: encoding.Reader, what: str, later: range) -> _Map:
    values: dict[bytes, bytes] = {}
    spans: dict[bytes, tuple[int, int]] = {}
    while True:
        start = reader.at
        key = reader.sized()
        if not key:
            return _Map(values, spans, start)
        value = reader.sized()
        if key in values:
            raise unparsable(f"{what}: the key {key[:40].hex()} occurs twice")
        if key[0] in later:
            raise unparsable(f"{what}: field {key[0]:#04x} is of version 2; only version 0 of PSBT is supported")
        values[key], spans[key] = value, (start, reader.at)


def _spent_output(psbt_input: PsbtInput, transaction: encoding.Transaction) -> encoding.TxOutput:
    """The output that an input spends. Raises InvalidRequest unless the records show it as its script demands."""
    spends = transaction.inputs[psbt_input.number]
    spent_outputs = []
    if (witness_utxo := psbt_input.get(InputKeyType.WITNESS_UTXO)) is not None:
        reader = encoding.Reader(witness_utxo, f"input {psbt_input.number}: witness_utxo")
        spent_outputs.append(reader.output())
        reader.finish()
    if (non_witness_utxo := psbt_input.get(InputKeyType.NON_WITNESS_UTXO)) is not None:
        txid, outputs = encoding.read_previous(non_witness_utxo, f"input {psbt_input.number}: non_witness_utxo")
        if txid != spends.txid:
            raise psbt_input.refusal(
                f"non_witness_utxo is transaction {txid[::-1].hex()}, but the input spends "
                f"{spends.txid[::-1].hex()}"
            )
        if spends.vout >= len(outputs):
            raise psbt_input.refusal(
                f"it spends output {spends.vout} of a transaction that has {len(outputs)} outputs"
            )
        spent_outputs.append(outputs[spends.vout])
    if not spent_outputs:
        raise psbt_input.refusal(
            "neither witness_utxo nor non_witness_utxo says what it spends, so the fee is unknown"
        )
    if spent_outputs[0] != spent_outputs[-1]:
        raise psbt_input.refusal("witness_utxo and non_witness_utxo contradict each other")
    _check_shown(psbt_input, spent_outputs[0].script)
    return spent_outputs[0]


def _check_shown(psbt_input: PsbtInput, script: bytes) -> None:
    """Raise InvalidRequest unless the input has the records that the public service demands for this script, also
    of inputs that others sign.

    A signature before Taproot commits to no other input's amount, and before SegWit to none at all. So only the
    previous transaction shows what is spent; with witness_utxo alone, somebody could understate it twice and make
    the owner pay the difference as a fee.
    """
    witness, whole = (psbt_input.has(field) for field in (InputKeyType.WITNESS_UTXO, InputKeyType.NON_WITNESS_UTXO))
    kind = kind_of(script)
    if kind is ScriptKind.P2TR:
        if not witness:
            raise psbt_input.refusal("a P2TR input needs witness_utxo")
        return
    name = kind or "another script"
    if not whole:
        raise psbt_input.refusal(
            f"it spends {name} and needs non_witness_utxo: only the whole previous transaction proves the amount"
        )
    is_witness = is_witness_program(script)
    if is_witness and not witness:
        raise psbt_input.refusal(f"it spends {name} and needs witness_utxo as well")
    is_nested = is_witness_program(psbt_input.get(InputKeyType.REDEEM_SCRIPT) or b"")
    if witness and not is_witness and not is_nested:
        raise psbt_input.refusal(f"it spends {name}, which is not SegWit, and must not have witness_utxo")
