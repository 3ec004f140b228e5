"""PSBTs for tests: their maps record by record, inputs of each kind, and how each is spent in the end.

The transactions are btclib's, and so is the script engine that judges what was signed.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from btclib.hashes import ripemd160
from btclib.key import PubKeyData
from btclib.script.engine import verify_transaction
from btclib.script.engine.flags import ScriptFlag
from btclib.script.script_pub_key import ScriptPubKey
from btclib.script.witness import Witness
from btclib.tx.out_point import OutPoint
from btclib.tx.tx import Tx
from btclib.tx.tx_in import TxIn
from btclib.tx.tx_out import TxOut

from keystead.api.enums import AddressFormat, Curve
from keystead.chains.signatures import Signature
from keystead.chains.transaction import Party, UnsignedTransaction
from keystead.keys.signatures import sign
from keystead.primitives import secp256k1

Record = tuple[bytes, bytes]
KINDS = ("P2PKH", "P2SH", "P2WPKH", "P2WSH", "P2TR")
KEY, OTHER_KEY = b"\x11" * 32, b"\x22" * 32
NETWORKS = {"MAINNET": "mainnet", "TESTNET": "testnet", "REGTEST": "regtest"}


def compact(size: int) -> bytes:
    if size < 253:
        return bytes([size])
    return b"\xfd" + size.to_bytes(2, "little") if size < 65_536 else b"\xfe" + size.to_bytes(4, "little")


def string(data: bytes) -> bytes:
    return compact(len(data)) + data


def records(*written: Record) -> bytes:
    return b"".join(string(key) + string(value) for key, value in written) + b"\0"


def psbt(tx: bytes, inputs: Sequence[Sequence[Record]], outputs: int, extra: Sequence[Record] = ()) -> bytes:
    maps = [records((b"\0", tx), *extra), *(records(*one) for one in inputs), *[b"\0"] * outputs]
    return b"psbt\xff" + b"".join(maps)


def read_maps(data: bytes) -> list[list[Record]]:
    """The maps of a PSBT whose lengths are below 64 KiB."""
    maps: list[list[Record]] = []
    current: list[Record] = []
    at = 5
    read: list[bytes] = []
    while at < len(data):
        size, at = data[at], at + 1
        if size == 253:
            size, at = int.from_bytes(data[at : at + 2], "little"), at + 2
        if size == 0 and not read:
            maps.append(current)
            current = []
            continue
        read.append(data[at : at + size])
        at += size
        if len(read) == 2:
            current.append((read[0], read[1]))
            read = []
    return maps


def key_of(private: bytes) -> bytes:
    return secp256k1.public_key(private)


def multisig(*keys: bytes) -> bytes:
    """One of these."""
    return b"\x51" + b"".join(b"\x21" + key for key in keys) + bytes([0x50 + len(keys), 0xAE])


def single(key: bytes) -> bytes:
    """The script behind a script address of one key."""
    return b"\x21" + key + b"\xac"


@functools.cache
def script_for(kind: str, key: bytes, script: bytes | None = None) -> bytes:
    """What an account of one key is paid to; of P2SH and P2WSH, by a script with its key and another."""
    script = multisig(key, key_of(OTHER_KEY)) if script is None else script
    if len(script) > {"P2SH": 520, "P2WSH": 10_000}.get(kind, len(script)):
        digest = hashlib.sha256(script).digest()  # btclib makes no address that nobody could spend from
        return b"\xa9\x14" + ripemd160(digest) + b"\x87" if kind == "P2SH" else b"\0\x20" + digest
    made = {
        "P2PKH": lambda: ScriptPubKey.p2pkh(PubKeyData(key)),
        "P2SH": lambda: ScriptPubKey.p2sh(script),
        "P2WPKH": lambda: ScriptPubKey.p2wpkh(PubKeyData(key)),
        "P2WSH": lambda: ScriptPubKey.p2wsh(script),
        "P2TR": lambda: ScriptPubKey.p2tr(PubKeyData(key)),
    }[kind]()
    return bytes(made.script)


def bitcoin_party(kind: str, network: str = "MAINNET", private: bytes = KEY) -> Party:
    script = script_for(kind, key_of(private), script=single(key_of(private)))
    return Party(
        curve=Curve.SECP256K1,
        compressed=key_of(private),
        uncompressed=secp256k1.to_uncompressed(key_of(private)),
        address_format=AddressFormat(f"ADDRESS_FORMAT_BITCOIN_{network}_{kind}"),
        address=ScriptPubKey(script, network=NETWORKS[network]).address,
    )


@dataclass
class Spent:
    """An output and the records of the input that spends it."""

    kind: str
    satoshis: int = 100_000
    private: bytes = KEY
    script: bytes | None = None
    extra: list[Record] = field(default_factory=list)
    sequence: int = 0xFFFFFFFD
    funding: Tx = field(init=False)

    def __post_init__(self) -> None:
        if self.script is None:
            self.script = multisig(key_of(self.private), key_of(OTHER_KEY))
        paid = script_for(self.kind, key_of(self.private), script=self.script)
        source = OutPoint(hashlib.sha256(paid + bytes(self.extra.__repr__(), "utf8")).digest(), 3)
        witness = Witness([b"\x01\x02"]) if self.kind == "P2SH" else None
        change = TxOut(7, script_for("P2WPKH", key_of(OTHER_KEY)))
        self.funding = Tx(
            2, 0, [TxIn(source, sequence=1, script_witness=witness)], [change, TxOut(self.satoshis, paid)]
        )

    @property
    def output(self) -> TxOut:
        return self.funding.vout[1]

    @property
    def spends(self) -> TxIn:
        return TxIn(OutPoint(self.funding.id, 1), sequence=self.sequence)

    @property
    def records(self) -> list[Record]:
        assert self.script is not None
        records_: list[Record] = []
        if self.kind != "P2TR":
            records_.append((b"\x00", self.funding.serialize(include_witness=True)))
        if self.kind in ("P2WPKH", "P2WSH", "P2TR"):
            records_.append((b"\x01", self.output.serialize()))
        if self.kind == "P2SH":
            records_.append((b"\x04", self.script))
        if self.kind == "P2WSH":
            records_.append((b"\x05", self.script))
        return sorted([*records_, *self.extra])


def transaction(spent: Sequence[Spent], outputs: Sequence[TxOut], version: int = 2, locktime: int = 0) -> Tx:
    return Tx(version, locktime, [one.spends for one in spent], list(outputs))


def paying(*satoshis: int) -> list[TxOut]:
    return [TxOut(amount, script_for("P2WPKH", key_of(OTHER_KEY))) for amount in satoshis]


def unsigned_psbt(spent: Sequence[Spent], outputs: Sequence[TxOut], version: int = 2, locktime: int = 0) -> bytes:
    tx = transaction(spent, outputs, version, locktime).serialize(include_witness=False)
    return psbt(tx, [one.records for one in spent], len(outputs))


def signed(parsed: UnsignedTransaction, private: bytes = KEY) -> tuple[Signature, ...]:
    return sign(Curve.SECP256K1, private, parsed.scheme, parsed.messages, public_key=key_of(private))


def verify(psbt_signed: bytes, spent: Sequence[Spent], tx: Tx) -> None:
    """Finalize every input by the signature in its map and let btclib's engine verify the transaction."""
    for made, one, known in zip(tx.vin, spent, read_maps(psbt_signed)[1:], strict=False):
        found = dict(known)
        pub_key = key_of(one.private)
        assert one.script is not None
        dummy = one.script.endswith(b"\xae")  # OP_CHECKMULTISIG takes one item more than it needs
        match one.kind:
            case "P2PKH":
                made.script_sig = string(found[b"\x02" + pub_key]) + string(pub_key)
            case "P2SH":
                pushed = (b"\x4c" if len(one.script) > 75 else b"") + string(one.script)
                made.script_sig = b"\0" * dummy + string(found[b"\x02" + pub_key]) + pushed
            case "P2WPKH":
                made.script_witness = Witness([found[b"\x02" + pub_key], pub_key])
            case "P2WSH":
                made.script_witness = Witness([b""] * dummy + [found[b"\x02" + pub_key], one.script])
            case "P2TR":
                made.script_witness = Witness([found[b"\x13"]])
    flags = (
        ScriptFlag.P2SH
        | ScriptFlag.DERSIG
        | ScriptFlag.NULLDUMMY
        | ScriptFlag.WITNESS
        | ScriptFlag.TAPROOT
        | ScriptFlag.LOW_S
        | ScriptFlag.STRICTENC
    )
    verify_transaction([one.output for one in spent], tx, flags)
