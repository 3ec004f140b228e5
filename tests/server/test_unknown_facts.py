"""Attacks on DENY policies by what a transaction does not say: over HTTP, each beside the form that says it.

A user may sign anything that no policy denies. Each transaction is first signed, so that the refusal is the
policy's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from solders.hash import Hash
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.message import Message, MessageAddressTableLookup, MessageHeader, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.organization_fixtures import SOLANA_ACCOUNT, policy_params, session_profile_params
from tests.support.servers import Server
from tests.support.sessions import logged_in

SYSTEM, TOKEN = (
    Pubkey.from_string(text)
    for text in ("11111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
)
BAD, GOOD, MINT, TABLE, PROGRAM = (Pubkey(bytes([number]) * 32) for number in (0xBA, 0x60, 0x31, 0x7A, 0x99))


def wire(message: Message | MessageV0) -> str:
    slots = [Signature.default()] * message.header.num_required_signatures
    return bytes(VersionedTransaction.populate(message, slots)).hex()


def legacy(signer: Pubkey, *instructions: Instruction) -> str:
    return wire(Message.new_with_blockhash(instructions, signer, Hash(b"\1" * 32)))


def transfer(signer: Pubkey, to: Pubkey | None, amount: int = 5) -> str:
    """A transfer of lamports. `to`: None for an account of a lookup table."""
    data = b"\2\0\0\0" + amount.to_bytes(8, "little")
    if to is not None:
        metas = [AccountMeta(signer, True, True), AccountMeta(to, False, True)]
        return legacy(signer, Instruction(SYSTEM, data, metas))
    lookup = MessageAddressTableLookup(TABLE, b"\7", b"")
    instruction = CompiledInstruction(1, data, bytes([0, 2]))
    header = MessageHeader(1, 0, 1)
    return wire(MessageV0(header, [signer, SYSTEM], Hash(bytes(32)), [instruction], [lookup]))


def tokens(signer: Pubkey, amount: int, mint: Pubkey | None) -> str:
    """A transfer of tokens. `mint`: None for the form that does not name it."""
    size, read = amount.to_bytes(8, "little"), [AccountMeta(GOOD, False, True)]
    owner = AccountMeta(signer, True, False)
    if mint is None:
        return legacy(signer, Instruction(TOKEN, b"\3" + size, [*read, AccountMeta(BAD, False, True), owner]))
    metas = [*read, AccountMeta(mint, False, False), AccountMeta(BAD, False, True), owner]
    return legacy(signer, Instruction(TOKEN, b"\x0c" + size + b"\6", metas))


def route(amount: int, limit: int | None, *, padding: bool = False) -> Callable[[Pubkey], str]:
    option = b"\0" if limit is None else b"\1" + limit.to_bytes(8, "little")
    calls = [Instruction(PROGRAM, b"\1" + amount.to_bytes(8, "little") + option, [])]
    if padding:
        calls.insert(0, Instruction(PROGRAM, b"\xff", []))
    return lambda signer: legacy(signer, *calls)


def idl(discriminator: list[int]) -> str:
    args = [{"name": "amount", "type": "u64"}, {"name": "limit", "type": {"option": "u64"}}]
    call = {"name": "route", "accounts": [], "args": args, "discriminator": discriminator}
    return json.dumps({"instructions": [call], "types": []})


@dataclass
class Place:
    root: Caller
    user: Caller
    address: str

    def sign(self, make: Callable[[Pubkey], str], caller: Caller | None = None) -> httpx.Response:
        unsigned = make(Pubkey.from_string(self.address))
        params = {"signWith": self.address, "unsignedTransaction": unsigned, "type": "TRANSACTION_TYPE_SOLANA"}
        return (caller or self.user).submit("sign_transaction", params)

    def policy(self, effect: str, condition: str) -> str:
        params = policy_params(effect=f"EFFECT_{effect}", condition=condition, consensus="")
        policy_id: str = self.root.result("create_policy", params)["policyId"]
        return policy_id

    def upload(self, interface: str) -> str:
        params = {
            "smartContractAddress": str(PROGRAM),
            "smartContractInterface": interface,
            "type": "SMART_CONTRACT_INTERFACE_TYPE_SOLANA",
            "label": unique("router"),
        }
        interface_id: str = self.root.result("create_smart_contract_interface", params)["smartContractInterfaceId"]
        return interface_id

    def denial_of(self, condition: str, make: Callable[[Pubkey], str]) -> tuple[str, str]:
        """What a DENY policy makes of a transaction that is otherwise signed: its outcome, and why."""
        assert self.sign(make).status_code == 200
        policy_id = self.policy("DENY", condition)
        response = self.sign(make)
        self.root.submitted("delete_policies", {"policyIds": [policy_id]})
        if response.status_code == 200:
            return "signed", ""
        assert refusal(response)[0] == 403
        (detail,) = response.json()["details"]
        assert policy_id in detail["message"]
        asked = self.root.asked("get_policy_evaluations", activityId=detail["activityId"])
        (evaluation,) = asked["policyEvaluations"]
        (outcome,) = [each for each in evaluation["policyEvaluations"] if each["policyId"] == policy_id]
        return outcome["outcome"], outcome.get("reason") or ""


@pytest.fixture(scope="module")
def place(sqlite_server: Server) -> Iterator[Place]:
    root = new_sub_organization(sqlite_server.caller)
    wallet = root.result("create_wallet", {"walletName": "wallet", "accounts": [SOLANA_ACCOUNT]})
    found = Place(root, root.new_user(), wallet["addresses"][0])
    found.policy("ALLOW", "activity.action == 'SIGN' || activity.action == 'CREATE'")
    yield found


DENIES = "OUTCOME_DENY_EXPLICIT"


@pytest.mark.parametrize("mint", [MINT, None], ids=["TransferChecked", "Transfer"])
def test_a_denial_of_a_mint_and_an_amount(mint: Pubkey | None, place: Place) -> None:
    condition = f"solana.tx.spl_transfers.any(t, t.token_mint == '{MINT}' && t.amount > 100)"
    outcome, reason = place.denial_of(condition, lambda signer: tokens(signer, 101, mint))
    assert outcome == DENIES
    assert (".token_mint is unknown: the instruction does not name the mint" in reason) is (mint is None)
    assert place.denial_of(condition, lambda signer: tokens(signer, 100, mint)) == ("signed", "")


RECIPIENT = "solana.tx.transfers"
OF_A_RECIPIENT = [
    f"{RECIPIENT}[0].to == '{BAD}'",
    f"{RECIPIENT}[0].to in ['{MINT}', '{BAD}']",
    f"{RECIPIENT}.any(t, t.to == '{BAD}')",
    f"['{BAD}'].contains({RECIPIENT}[0].to)",
    f"!({RECIPIENT}[0].to != '{BAD}')",
    f"!{RECIPIENT}.all(t, t.to != '{BAD}')",
    f"{RECIPIENT}.filter(t, t.to == '{BAD}').count() > 0",
    f"solana.tx.account_keys.contains('{BAD}')",
    f"solana.tx.account_keys.any(key, key == '{BAD}')",
    f"solana.tx.instructions.any(i, i.accounts.any(a, a.account_key == '{BAD}' && a.writable))",
    f"solana.tx.movements.any(m, m.to == '{BAD}')",
]


@pytest.mark.parametrize("condition", OF_A_RECIPIENT)
def test_a_denial_of_a_recipient(condition: str, place: Place) -> None:
    assert place.denial_of(condition, lambda signer: transfer(signer, BAD)) == (DENIES, "")
    outcome, reason = place.denial_of(condition, lambda signer: transfer(signer, None))
    assert outcome == DENIES
    assert "is unknown: an address lookup table, which is on the chain, has the key of this account" in reason
    assert place.denial_of(condition, lambda signer: transfer(signer, GOOD)) == ("signed", "")


def test_the_documented_word_for_an_account_of_a_lookup_table(place: Place) -> None:
    condition = f"{RECIPIENT}.any(t, t.to == 'ADDRESS_TABLE_LOOKUP')"
    assert place.denial_of(condition, lambda signer: transfer(signer, None)) == (DENIES, "")
    assert place.denial_of(condition, lambda signer: transfer(signer, GOOD)) == ("signed", "")


def test_an_allowance_of_a_recipient_and_a_session_for_it(place: Place) -> None:
    only_good = f"solana.tx.transfers.count() == 1 && solana.tx.transfers.all(t, t.to == '{GOOD}')"
    profile = session_profile_params(sessionProfileName=unique("good"), scope=only_good)
    profile_id = place.root.result("create_session_profile", profile)["sessionProfileId"]
    session = logged_in(place.user, sessionProfileId=profile_id)
    for to, status in ((GOOD, 200), (BAD, 403), (None, 403)):
        assert place.sign(lambda signer, to=to: transfer(signer, to), session).status_code == status  # type: ignore[misc]


CALLED = "i.parsed_instruction_data"
LARGE = f"solana.tx.instructions.any(i, {CALLED}.program_call_args['amount'] > 100)"
LIMIT = f"solana.tx.instructions.any(i, {CALLED}.program_call_args['limit'] > 100)"
ATTACKS: list[tuple[str, str, list[int], Callable[[Pubkey], str], str]] = [
    ("as it is", LARGE, [1], route(101, 5), ""),
    ("with padding outside of the IDL", LARGE, [1], route(101, 5, padding=True), ""),
    ("padding alone", LARGE, [1], route(5, 5, padding=True), "the uploaded interface has no such instruction"),
    ("an absent option", LIMIT, [1], route(5, None), "['limit'] is unknown: the option is absent"),
    ("another dialect", LARGE, [9, 9, 9, 9], route(101, 5), "the uploaded interface has no such instruction"),
]


@pytest.mark.parametrize(
    ("condition", "discriminator", "make", "why"), [row[1:] for row in ATTACKS], ids=[row[0] for row in ATTACKS]
)
def test_a_denial_of_an_argument(
    condition: str, discriminator: list[int], make: Callable[[Pubkey], str], why: str, place: Place
) -> None:
    interface = place.upload(idl(discriminator))
    outcome, reason = place.denial_of(condition, make)
    place.root.submitted("delete_smart_contract_interface", {"smartContractInterfaceId": interface})
    assert outcome == DENIES
    assert why in reason
    assert bool(reason) is bool(why)


def test_a_small_argument_is_signed(place: Place) -> None:
    interface = place.upload(idl([1]))
    assert place.denial_of(LARGE, route(100, 5)) == ("signed", "")
    place.root.submitted("delete_smart_contract_interface", {"smartContractInterfaceId": interface})


def test_proofs_are_asked_for(sqlite_server: Server, place: Place) -> None:
    user = place.root.new_user()
    methods = [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}]
    condition = f"solana.tx.transfers.any(t, t.to == '{BAD}')"
    asked = {
        "userId": user.user_id,
        "mfaPolicyName": unique("mfa"),
        "condition": condition,
        "requiredAuthenticationMethods": methods,
        "order": 1,
    }
    place.root.result("create_mfa_policy", asked)
    for to, status in ((GOOD, "COMPLETED"), (BAD, "AUTHENTICATORS_NEEDED"), (None, "AUTHENTICATORS_NEEDED")):
        activity = answered(place.sign(lambda signer, to=to: transfer(signer, to), user))["activity"]  # type: ignore[misc]
        assert activity["status"] == f"ACTIVITY_STATUS_{status}"


def test_the_explanation_names_the_field_and_the_reason(place: Place) -> None:
    activity = answered(place.sign(lambda signer: transfer(signer, None)))["activity"]
    policy_id = place.policy("DENY", f"solana.tx.transfers[0].to == '{BAD}' && eth.tx.value > 1")
    other_id = place.policy("DENY", f"false || solana.tx.transfers[0].to == '{BAD}'")
    explained: dict[str, Any] = {
        each: place.root.asked("explain_policy", activityId=activity["id"], policyId=each)["explainedClauses"]
        for each in (policy_id, other_id)
    }
    place.root.submitted("delete_policies", {"policyIds": [policy_id, other_id]})
    why = (
        "solana.tx.transfers[0].to is unknown: an address lookup table, which is on the chain, has the key of this "
        "account"
    )
    ((clause,), (other,)) = explained.values()
    assert [(part["value"], part["reason"]) for part in clause["parts"]] == [
        ("not applicable", "eth.tx is absent"),
        ("unknown", why),
        ("not applicable", "eth.tx is absent"),
    ]
    assert [(part["value"], part["reason"]) for part in other["parts"]] == [
        ("unknown", why),
        ("false", ""),
        ("unknown", why),
    ]
