"""Bitcoin: the inputs of a PSBT that one account signs, and what policies see of its transaction.

Here: which inputs are the account's own, the rules for them, where signatures go, what it moves. The PSBT is not
finalized. Not here: reading PSBTs (`psbt`), digests (`digests`), scripts and addresses (`scripts`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, assert_never

import msgspec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains import bounds
from keystead.chains.addresses import bitcoin
from keystead.chains.addresses.bitcoin import AddressPrefixes
from keystead.chains.bitcoin.digests import SIGHASH_ALL, SIGHASH_DEFAULT, Digests
from keystead.chains.bitcoin.encoding import TxOutput
from keystead.chains.bitcoin.facts import BitcoinTransaction
from keystead.chains.bitcoin.psbt import InputKeyType, Psbt, PsbtInput, read_psbt
from keystead.chains.bitcoin.scripts import (
    OP_CODESEPARATOR,
    address_of,
    kind_of,
    network_and_kind,
    operations,
    p2pkh,
    p2sh,
    p2tr,
    p2wpkh,
    p2wsh,
)
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.chains.curves import GROUP_ORDERS
from keystead.chains.movements import NATIVE, NOBODY, Movement, MovementKind, movement_facts
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.transaction import (
    Description,
    Party,
    TransactionView,
    UnsignedTransaction,
    require_curve,
    unparsable,
)
from keystead.primitives.unreadable import Unreadable

_LOCKTIME_SECONDS_FROM: Final = 500_000_000
"""A locktime below this is a block height, else seconds since the epoch."""


class _InputRules(msgspec.Struct, frozen=True):
    """The records that an input of the account must have and must not have, for one kind of script, beside those
    that show what it spends (`psbt`)."""

    must: tuple[InputKeyType, ...]
    must_not: tuple[InputKeyType, ...]
    sighash: int = SIGHASH_ALL


_FINAL = (InputKeyType.FINAL_SCRIPTSIG, InputKeyType.FINAL_SCRIPTWITNESS)
_SCRIPTS = (InputKeyType.REDEEM_SCRIPT, InputKeyType.WITNESS_SCRIPT)
_RULES: Final[Mapping[bitcoin.ScriptKind, _InputRules]] = {
    bitcoin.ScriptKind.P2PKH: _InputRules((), (*_SCRIPTS, *_FINAL)),
    bitcoin.ScriptKind.P2SH: _InputRules((InputKeyType.REDEEM_SCRIPT,), (InputKeyType.WITNESS_SCRIPT, *_FINAL)),
    bitcoin.ScriptKind.P2WPKH: _InputRules((), (*_SCRIPTS, *_FINAL)),
    bitcoin.ScriptKind.P2WSH: _InputRules((InputKeyType.WITNESS_SCRIPT,), (InputKeyType.REDEEM_SCRIPT, *_FINAL)),
    bitcoin.ScriptKind.P2TR: _InputRules(
        (),
        (
            InputKeyType.TAP_LEAF_SCRIPT,
            InputKeyType.TAP_MERKLE_ROOT,
            InputKeyType.TAP_SCRIPT_SIG,
            *_SCRIPTS,
            *_FINAL,
        ),
        SIGHASH_DEFAULT,
    ),
}


class _SigningAccount(msgspec.Struct, frozen=True):
    """The account that signs. `script`: the script that its address pays to."""

    party: Party
    kind: bitcoin.ScriptKind
    network: bitcoin.AddressPrefixes
    script: bytes


def parse_bitcoin(unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read a PSBT of version 0 for an account with a Bitcoin address.

    Raises InvalidRequest if it cannot be read strictly, has no input of the account, or has one of a form that is
    not signed: nested SegWit, script paths, other sighash types.
    """
    require_curve(party, Curve.SECP256K1, "Bitcoin")
    account = _account(party)
    psbt = _read(unsigned)
    own = [psbt_input for psbt_input in psbt.inputs if _is_own(account, psbt_input, psbt)]
    if not own:
        raise unparsable(f"it has no input of {party.address or account.kind}")
    for psbt_input in own:
        _check_own(account, psbt_input)
    if (
        account.kind in (bitcoin.ScriptKind.P2PKH, bitcoin.ScriptKind.P2SH)
        and len(own) * psbt.transaction_bytes > bounds.LEGACY_BYTES_HASHED_MAX
    ):
        raise unparsable(
            f"{len(own)} inputs of {account.kind} in a transaction of {psbt.transaction_bytes} bytes are too many "
            "to sign at once: spend fewer, or receive at a SegWit address"
        )
    view = _view(
        psbt, account.script, {psbt.spent[psbt_input.number].script for psbt_input in own}, account.network
    )
    digests = Digests(psbt.transaction, psbt.spent)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        return psbt.with_records(
            {
                psbt_input.number: _record(account, signature)
                for psbt_input, signature in zip(own, signatures, strict=True)
            }
        )

    return UnsignedTransaction(
        scheme=SignatureScheme.SCHNORR_KEY_PATH
        if account.kind is bitcoin.ScriptKind.P2TR
        else SignatureScheme.ECDSA,
        messages=tuple(_digest(account, psbt_input, psbt, digests) for psbt_input in own),
        movements=view.movements,
        describe=view.describe,
        assemble=assemble,
    )


def view_bitcoin(unsigned: bytes, sign_with: str) -> TransactionView:
    """What a PSBT says, its addresses as the network of the address `sign_with` writes them.

    Raises InvalidRequest as `parse_bitcoin` does.
    """
    psbt, network = _read(unsigned), bitcoin.network_of(sign_with)
    scripts = (output.script for output in (*psbt.spent, *psbt.transaction.outputs))
    own = next((script for script in scripts if address_of(script, network) == sign_with), b"")
    return _view(psbt, own, {own}, network)


def _read(unsigned: bytes) -> Psbt:
    if len(unsigned) > bounds.PSBT_BYTES_MAX:
        raise unparsable(f"it has {len(unsigned)} bytes; a PSBT has at most {bounds.PSBT_BYTES_MAX}")
    return read_psbt(unsigned)


def _view(psbt: Psbt, own: bytes, signed: Collection[bytes], network: bitcoin.AddressPrefixes) -> TransactionView:
    """`own`: the script that the address of the account pays to. `signed`: the scripts for which the account
    signs."""
    fee = sum(output.satoshis for output in psbt.spent) - sum(
        output.satoshis for output in psbt.transaction.outputs
    )
    if fee < 0:
        raise unparsable(f"its outputs exceed its inputs by {-fee} satoshis")

    proven_fee = fee if _are_amounts_proven(psbt, signed) else _CLAIMED_AMOUNTS
    moved = movements(psbt, own, network, proven_fee)

    def describe(_: Mapping[str, ParsedInterface]) -> Description:
        return Description({"bitcoin": {"tx": _facts(psbt, network, moved, proven_fee)}})

    return TransactionView(movements=moved, describe=describe)


_CLAIMED_AMOUNTS: Final = Unreadable(
    "the PSBT claims the amount of an input without the transaction that paid it (non_witness_utxo)"
)


def _are_amounts_proven(psbt: Psbt, signed: Collection[bytes]) -> bool:
    """Whether what the inputs spend is certain, and so is the fee.

    It is if the previous transactions are given, whose ids are checked; only an input of P2TR may leave its own out
    (`psbt`). It also is if the account signs for P2TR, because such a signature commits to the amounts of all
    inputs (BIP-341).
    """
    return any(kind_of(script) is bitcoin.ScriptKind.P2TR for script in signed) or all(
        psbt_input.has(InputKeyType.NON_WITNESS_UTXO) for psbt_input in psbt.inputs
    )


def _account(party: Party) -> _SigningAccount:
    network_kind = network_and_kind(party.address_format)
    if network_kind is None:
        raise InvalidRequest(
            "invalid request: field `parameters.signWith`: Bitcoin transactions are signed with a Bitcoin address, "
            f"not with {party.address_format or 'the id of a private key'}"
        )
    network, kind = network_kind
    return _SigningAccount(party, kind, network, _SCRIPT_OF[kind](party.compressed))


_SCRIPT_OF: Final[Mapping[bitcoin.ScriptKind, Callable[[bytes], bytes]]] = {
    bitcoin.ScriptKind.P2PKH: lambda key: p2pkh(bitcoin.hash160(key)),
    bitcoin.ScriptKind.P2SH: lambda key: p2sh(bitcoin.single_key_script(key)),
    bitcoin.ScriptKind.P2WPKH: lambda key: p2wpkh(bitcoin.hash160(key)),
    bitcoin.ScriptKind.P2WSH: lambda key: p2wsh(bitcoin.single_key_script(key)),
    bitcoin.ScriptKind.P2TR: p2tr,
}


def _is_own(account: _SigningAccount, psbt_input: PsbtInput, psbt: Psbt) -> bool:
    """Whether the input spends an output of the account.

    An account of P2SH or P2WSH also owns outputs that pay to a script in the PSBT that contains its compressed key.
    """
    spent = psbt.spent[psbt_input.number].script
    if spent == account.script:
        return True
    return (
        account.kind in (bitcoin.ScriptKind.P2SH, bitcoin.ScriptKind.P2WSH)
        and kind_of(spent) is account.kind
        and _has_key(account, psbt_input, spent)
    )


def _has_key(account: _SigningAccount, psbt_input: PsbtInput, spent: bytes) -> bool:
    key = account.party.compressed
    redeem_script, witness_script = (
        psbt_input.get(InputKeyType.REDEEM_SCRIPT),
        psbt_input.get(InputKeyType.WITNESS_SCRIPT),
    )
    if account.kind is bitcoin.ScriptKind.P2WSH:
        return witness_script is not None and p2wsh(witness_script) == spent and key in witness_script
    nested = p2wpkh(bitcoin.hash160(key))
    if spent == p2sh(nested):
        return True
    if redeem_script is None or p2sh(redeem_script) != spent:
        return False
    if witness_script is not None and p2wsh(witness_script) == redeem_script:
        return key in witness_script
    return key in redeem_script


def _check_own(account: _SigningAccount, psbt_input: PsbtInput) -> None:
    rules = _RULES[account.kind]
    for field in rules.must:
        if not psbt_input.has(field):
            raise psbt_input.refusal(f"a {account.kind} input needs {field.name.lower()}")
    for field in rules.must_not:
        if psbt_input.has(field):
            raise psbt_input.refusal(f"a {account.kind} input is not signed with {field.name.lower()}")
    sighash = psbt_input.get(InputKeyType.SIGHASH_TYPE)
    if sighash is not None and sighash != rules.sighash.to_bytes(4, "little"):
        raise psbt_input.refusal(
            f"sighash type {sighash[:8].hex()}; {account.kind} is signed with {rules.sighash} only"
        )


def _digest(account: _SigningAccount, psbt_input: PsbtInput, psbt: Psbt, digests: Digests) -> bytes:
    spent = psbt.spent[psbt_input.number].script
    match account.kind:
        case bitcoin.ScriptKind.P2PKH:
            return digests.legacy(psbt_input.number, spent)
        case bitcoin.ScriptKind.P2WPKH:
            return digests.segwit(psbt_input.number, p2pkh(spent[2:]))
        case bitcoin.ScriptKind.P2SH:
            return digests.legacy(psbt_input.number, _script(psbt_input, InputKeyType.REDEEM_SCRIPT, spent))
        case bitcoin.ScriptKind.P2WSH:
            return digests.segwit(psbt_input.number, _script(psbt_input, InputKeyType.WITNESS_SCRIPT, spent))
        case bitcoin.ScriptKind.P2TR:
            return digests.taproot(psbt_input.number)
        case _:
            assert_never(account.kind)


def _script(psbt_input: PsbtInput, field: InputKeyType, spent: bytes) -> bytes:
    """The script of an own input. Raises InvalidRequest unless it is the one paid to, of a form that is signed."""
    script, name = psbt_input.get(field), field.name.lower()
    assert script is not None  # as the rules say
    legacy = field is InputKeyType.REDEEM_SCRIPT
    limit = bounds.REDEEM_SCRIPT_BYTES_MAX if legacy else bounds.WITNESS_SCRIPT_BYTES_MAX
    if len(script) > limit:
        raise psbt_input.refusal(f"its {name} has {len(script)} bytes, at most {limit} are possible")
    if (p2sh if legacy else p2wsh)(script) != spent:
        raise psbt_input.refusal(f"its {name} is not the script that is paid to")
    if legacy and kind_of(script) in (bitcoin.ScriptKind.P2WPKH, bitcoin.ScriptKind.P2WSH):
        raise psbt_input.refusal(f"SegWit nested in P2SH is not signed: its {name} is {kind_of(script)}")
    if OP_CODESEPARATOR in operations(script):
        raise psbt_input.refusal(f"its {name} has an OP_CODESEPARATOR, which is not signed")
    return script


def _record(account: _SigningAccount, signature: Signature) -> tuple[bytes, bytes]:
    """The key and the value of the record of a signature."""
    if account.kind is bitcoin.ScriptKind.P2TR:
        return bytes([InputKeyType.TAP_KEY_SIG]), signature.r + signature.s
    r, s = int.from_bytes(signature.r), int.from_bytes(signature.s)
    # Nodes relay only the lower of the two possible s (BIP-146).
    der = encode_dss_signature(r, min(s, GROUP_ORDERS[Curve.SECP256K1] - s))
    return bytes([InputKeyType.PARTIAL_SIG]) + account.party.compressed, der + bytes([SIGHASH_ALL])


_NO_ADDRESS: Final = Unreadable("the script of the output has no address")
_NO_KIND: Final = Unreadable("the script of the output is of no kind that has a name")


def _facts(
    psbt: Psbt, network: bitcoin.AddressPrefixes, moved: Sequence[Movement], fee: int | Unreadable
) -> BitcoinTransaction:
    transaction = psbt.transaction
    seconds = transaction.locktime >= _LOCKTIME_SECONDS_FROM
    return {
        "version": str(transaction.version),
        "inputs": [
            {"tx_id": spending.txid[::-1].hex(), "vout": spending.vout, "sequence": spending.sequence}
            for spending in transaction.inputs
        ],
        "outputs": [
            {
                "value": output.satoshis,
                "script_pubkey": output.script.hex(),
                "address": address_of(output.script, network) or _NO_ADDRESS,
                "address_type": _address_type(output.script),
            }
            for output in transaction.outputs
        ],
        "locktime": {"amount": transaction.locktime, "type": "Seconds" if seconds else "Blocks"},
        "fee": fee,
        "movements": movement_facts(moved),
    }


def _address_type(script: bytes) -> str | Unreadable:
    kind = kind_of(script)
    return _NO_KIND if kind is None else kind.lower()


def movements(psbt: Psbt, own: bytes, network: AddressPrefixes, fee: int | Unreadable) -> Sequence[Movement]:
    """`own`: the script that the address of the account pays to. What pays back to it is change.

    What pays to another script that the account can spend is a payment, also where an input spends that script:
    somebody else may have made it, and be able to spend from it as well.
    """
    foreign = any(spent.script != own for spent in psbt.spent)
    sender = Unreadable("inputs of other scripts are spent, too") if foreign else address_of(own, network)
    paid = [output for output in psbt.transaction.outputs if output.satoshis and output.script != own]
    return (
        *(
            Movement(
                kind=MovementKind.TRANSFER,
                name="output",
                asset=NATIVE,
                from_=sender,
                to=recipient(output, network),
                amount=output.satoshis,
            )
            for output in paid
        ),
        Movement(kind=MovementKind.FEE, name="fee", asset=NATIVE, from_=sender, to=NOBODY, amount=fee),
    )


def recipient(output: TxOutput, network: AddressPrefixes) -> str:
    """The address that an output pays to; its script in hex if no address is paid."""
    return address_of(output.script, network) or output.script.hex()
