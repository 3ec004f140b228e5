"""The table of Solana's movements against the network's own programs, run in process (LiteSVM): whatever an account
loses or gains is in the movements, in lamports and in tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from solders import system_program as system
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from keystead.chains.movements import NATIVE, Movement, MovementKind
from keystead.chains.solana.transaction import parse_solana
from tests.chains.solana.movers import ACCOUNTS, ME, SEED, STRANGE, THIEF, call, token, u64
from tests.chains.solana.test_solana import SIGNER, SYSTEM, TOKEN, TOKEN_2022, of

MINT_KEY, ACCOUNT_KEY = Keypair.from_seed(b"\x61" * 32), Keypair.from_seed(b"\x62" * 32)
MINT, ACCOUNT = MINT_KEY.pubkey(), ACCOUNT_KEY.pubkey()
MINE = get_associated_token_address(ME, MINT)
THIEFS = get_associated_token_address(THIEF, MINT)
DERIVED = Pubkey.create_with_seed(ME, SEED, SYSTEM)
RENT_OF_MINT, RENT_OF_ACCOUNT = 1_461_600, 2_039_280


class Chain:
    """A chain with an account of the signer, a token of which it is the mint authority, and 1,000 units of it."""

    def __init__(self) -> None:
        self.svm = LiteSVM()
        for key in (ME, THIEF, DERIVED):
            self.svm.airdrop(key, 10**10)
        mint = system.create_account(
            {"from_pubkey": ME, "to_pubkey": MINT, "lamports": RENT_OF_MINT, "space": 82, "owner": TOKEN}
        )
        self.run(
            mint,
            token(b"\x14\x06" + bytes(ME) + b"\x00" + bytes(32), MINT),
            associated(ME, MINE),
            token(b"\x07" + u64(1_000), MINT, MINE, ME),
        )

    def run(self, *instructions: Instruction) -> Message:
        message = Message.new_with_blockhash(list(instructions), ME, self.svm.latest_blockhash())
        keys = {key.pubkey(): key for key in (SIGNER, MINT_KEY, ACCOUNT_KEY)}
        signers = [keys[key] for key in message.account_keys[: message.header.num_required_signatures]]
        done = self.svm.send_transaction(VersionedTransaction(message, signers))
        assert not isinstance(done, FailedTransactionMetadata), done.meta().logs()
        return message

    def balances(self, keys: Sequence[Pubkey]) -> Counter[tuple[str, str]]:
        """The lamports, and the tokens, of these accounts."""
        held: Counter[tuple[str, str]] = Counter()
        for key in keys:
            held[str(key), NATIVE] = self.svm.get_balance(key) or 0
            account = self.svm.get_account(key)
            if account is not None and account.owner == TOKEN and len(account.data) == 165:
                data = bytes(account.data)
                held[str(key), str(Pubkey(data[:32]))] = int.from_bytes(data[64:72], "little")
        return held


def associated(wallet: Pubkey, account: Pubkey, program: Pubkey = TOKEN, mint: Pubkey = MINT) -> Instruction:
    return call(ACCOUNTS, b"\x01", ME, account, wallet, mint, SYSTEM, program)


def closed_account(chain: Chain) -> Instruction:
    chain.run(associated(THIEF, THIEFS))
    chain.run(token(b"\x08" + u64(1_000), MINE, MINT, ME))
    return token(b"\x09", MINE, THIEF, ME)


def wrapped_account(chain: Chain) -> Instruction:
    """A transfer to an account of wrapped coins, which is then synchronized."""
    return system.transfer({"from_pubkey": ME, "to_pubkey": MINE, "lamports": 7})


def token_transfer(data: bytes, *keys: Pubkey) -> Any:
    def made(chain: Chain) -> Instruction:
        chain.run(associated(THIEF, THIEFS))
        return token(data, *keys)

    return made


CASES = {
    "Transfer": lambda _: system.transfer({"from_pubkey": ME, "to_pubkey": THIEF, "lamports": 5}),
    "CreateAccount": lambda _: system.create_account(
        {"from_pubkey": ME, "to_pubkey": ACCOUNT, "lamports": 10**7, "space": 9, "owner": STRANGE}
    ),
    "CreateAccountWithSeed": lambda _: system.create_account_with_seed(
        {
            "from_pubkey": ME,
            "to_pubkey": Pubkey.create_with_seed(ME, SEED, STRANGE),
            "base": ME,
            "seed": SEED,
            "lamports": 10**7,
            "space": 9,
            "owner": STRANGE,
        }
    ),
    "TransferWithSeed": lambda _: system.transfer_with_seed(
        {
            "from_pubkey": DERIVED,
            "from_base": ME,
            "from_seed": SEED,
            "from_owner": SYSTEM,
            "to_pubkey": THIEF,
            "lamports": 5,
        }
    ),
    "a token's Transfer": token_transfer(b"\x03" + u64(5), MINE, THIEFS, ME),
    "a token's TransferChecked": token_transfer(b"\x0c" + u64(5) + b"\x06", MINE, MINT, THIEFS, ME),
    "MintTo": token_transfer(b"\x07" + u64(5), MINT, THIEFS, ME),
    "Burn": token_transfer(b"\x08" + u64(5), MINE, MINT, ME),
    "CloseAccount": closed_account,
    "a transfer to a token account": wrapped_account,
    "Create": lambda _: associated(THIEF, THIEFS),
}


def changes_of(movements: Sequence[Movement], before: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """What the movements say that accounts gain and lose."""
    changed: Counter[tuple[str, str]] = Counter()
    for movement in movements:
        asset = movement.asset if isinstance(movement.asset, str) else str(MINT)
        amount = movement.amount if isinstance(movement.amount, int) else before[str(movement.from_), NATIVE]
        if movement.kind in (MovementKind.ALLOWANCE, MovementKind.AUTHORITY):
            continue
        for account, sign in ((movement.from_, -1), (movement.to, 1)):
            if account:
                # The rent of a new account is its wallet's.
                held = str(THIEFS) if movement.name == "CreateIdempotent" and sign == 1 else str(account)
                changed[held, asset] += sign * amount
    return changed


@pytest.mark.parametrize("name", CASES)
def test_what_the_chain_moves_is_in_the_movements(name: str) -> None:
    chain = Chain()
    instruction = CASES[name](chain)
    message = Message.new_with_blockhash([instruction], ME, chain.svm.latest_blockhash())
    keys = list(message.account_keys)
    before = chain.balances(keys)
    sent = chain.run(instruction)
    after = chain.balances(keys)
    slots = sent.header.num_required_signatures
    unsigned = bytes([slots]) + bytes(64 * slots) + bytes(sent)
    movements = parse_solana(unsigned, of(SIGNER)).movements
    said = changes_of(movements, before)
    happened = Counter({key: after[key] - before[key] for key in {*before, *after}})
    assert {key: change for key, change in said.items() if change} == {
        key: change for key, change in happened.items() if change
    }


def test_the_rent_of_an_account_with_every_extension() -> None:
    """An account of Token-2022 for a mint with a fee, a hook, pausable and not transferable."""
    chain = Chain()
    mint = ACCOUNT
    extensions = [
        b"\x1a\x00" + b"\x00" + b"\x00" + bytes(2) + u64(0),  # fees
        b"\x24\x00" + bytes(32) + bytes(STRANGE),  # a hook
        b"\x20",  # not transferable
        b"\x2c\x00" + bytes(ME),  # pausable
    ]
    size = 166 + (4 + 108) + (4 + 64) + 4 + (4 + 33)
    made = system.create_account(
        {"from_pubkey": ME, "to_pubkey": mint, "lamports": 10**8, "space": size, "owner": TOKEN_2022}
    )
    chain.run(
        made,
        *(token(data, mint, program=TOKEN_2022) for data in extensions),
        token(b"\x14\x06" + bytes(ME) + b"\x00" + bytes(32), mint, program=TOKEN_2022),
    )
    account = Pubkey.find_program_address([bytes(THIEF), bytes(TOKEN_2022), bytes(mint)], ACCOUNTS)[0]
    before = chain.svm.get_balance(account) or 0
    sent = chain.run(associated(THIEF, account, TOKEN_2022, mint))
    unsigned = b"\x01" + bytes(64) + bytes(sent)
    rent, _ = parse_solana(unsigned, of(SIGNER)).movements
    assert (chain.svm.get_balance(account) or 0) - before == rent.amount == 2_248_080
