"""The vectors of signed transactions and of program interfaces.

And the accounts of one mnemonic that sign in them, with private keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keystead.api.enums import AddressFormat, Curve
from keystead.chains.transaction import Party
from keystead.keys.public_keys import public_key

_VECTORS = Path(__file__).parents[1] / "vectors"
SIGNING: dict[str, Any] = json.loads((_VECTORS / "signing.json").read_bytes())
REPORTED: dict[str, Any] = json.loads((_VECTORS / "public_reports.json").read_bytes())
PROGRAM_INTERFACES: dict[str, Any] = json.loads((_VECTORS / "program_interfaces.json").read_bytes())
CLAIMED_AMOUNTS = [vector for vector in SIGNING["bitcoinPsbts"] if vector["id"].startswith("p2wpkh")]
"""PSBTs of SegWit inputs with `witness_utxo` alone: the amount is a claim, and they are refused."""
TRANSACTIONS: dict[str, list[dict[str, Any]]] = {
    "TRANSACTION_TYPE_ETHEREUM": SIGNING["ethereumTransactions"],
    "TRANSACTION_TYPE_TEMPO": SIGNING["tempoTransactions"],
    "TRANSACTION_TYPE_SOLANA": SIGNING["solanaTransactions"],
    "TRANSACTION_TYPE_TRON": SIGNING["tronTransactions"],
    "TRANSACTION_TYPE_BITCOIN": [
        *(vector for vector in SIGNING["bitcoinPsbts"] if vector not in CLAIMED_AMOUNTS),
        *REPORTED["bitcoinPsbts"],
    ],
}
"""The transactions that are signed, by type."""
_ACCOUNTS = json.loads((_VECTORS / "addresses.json").read_bytes())["walletAccounts"]


def account(address: str) -> tuple[bytes, Party]:
    """The private key and the party of an account of the vectors."""
    row = next(row for row in _ACCOUNTS if row.get("address") == address)
    return bytes.fromhex(row["privateKey"]), party(row["curve"], row["privateKey"], row["addressFormat"], address)


def party(curve: str, private_key: str, address_format: str | None = None, address: str | None = None) -> Party:
    key = public_key(Curve(curve), bytes.fromhex(private_key))
    return Party(
        curve=key.curve,
        compressed=key.compressed,
        uncompressed=key.uncompressed,
        address_format=None if address_format is None else AddressFormat(address_format),
        address=address,
    )
