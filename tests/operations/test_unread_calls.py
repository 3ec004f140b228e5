"""Calls that name a function of an uploaded interface, with arguments that do not decode: alike on both chains.

They can be signed. What the interface would say of the call is unknown: a policy about it allows nothing, and one
that was to deny, or to ask for more proofs, does so, unless it certainly speaks of something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import rlp
from eth_abi.abi import encode
from eth_hash.auto import keccak
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from tests.chains.solana.test_solana_interfaces import ROUTE
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, SOLANA_ACCOUNT, policy_params
from tests.support.servers import Server

CONTRACT, PROGRAM = "0x" + "5a" * 20, Pubkey(b"\x5a" * 32)
ABI = [{"type": "function", "name": "route", "inputs": [{"name": "amount", "type": "uint256"}]}]
IDL = {
    "instructions": [{"name": "route", "accounts": [], "args": [{"name": "amount", "type": "u64"}]}],
    "types": [],
}


def ethereum(_: str, amount: int | None) -> bytes:
    data = keccak(b"route(uint256)")[:4] + (b"\x01" if amount is None else encode(["uint256"], [amount]))
    items = [b"\1", b"", b"\1", b"\2", b"\x52\x08", bytes.fromhex(CONTRACT[2:]), b"", data, []]
    return b"\2" + bytes(rlp.encode(items))


def solana(signer: str, amount: int | None) -> bytes:
    data = ROUTE + (b"\x01" if amount is None else amount.to_bytes(8, "little"))
    message = Message.new_with_blockhash(
        [Instruction(PROGRAM, data, [])], Pubkey.from_string(signer), Hash(b"\1" * 32)
    )
    return bytes(VersionedTransaction.populate(message, [Signature.default()]))


@dataclass
class Chain:
    """`amount`, `name`: the fields of the call in the language of policies; `elsewhere`: false of every case."""

    kind: str
    interface: Any
    address: str
    account: dict[str, str]
    unsigned: Any
    amount: str
    name: str
    elsewhere: str
    sign_with: str = ""


CALL = "solana.tx.instructions[0].parsed_instruction_data"
CHAINS = {
    "Ethereum": Chain(
        "ETHEREUM",
        ABI,
        CONTRACT,
        ETHEREUM_ACCOUNT,
        ethereum,
        "eth.tx.contract_call_args['amount']",
        "eth.tx.function_name",
        f"eth.tx.to == '0x{'00' * 20}'",
    ),
    "Solana": Chain(
        "SOLANA",
        IDL,
        str(PROGRAM),
        SOLANA_ACCOUNT,
        solana,
        f"{CALL}.program_call_args['amount']",
        f"{CALL}.instruction_name",
        f"solana.tx.instructions[0].program_key == '{Pubkey(bytes(32))}'",
    ),
}


@pytest.fixture(scope="module", params=list(CHAINS.values()), ids=list(CHAINS))
def chain(request: pytest.FixtureRequest, sqlite_server: Server) -> Iterator[Chain]:
    """With its interface uploaded, and an account to sign with. What is on record makes no difference here."""
    of, root = request.param, sqlite_server.caller
    interface = {
        "smartContractAddress": of.address,
        "smartContractInterface": json.dumps(of.interface),
        "type": f"SMART_CONTRACT_INTERFACE_TYPE_{of.kind}",
        "label": unique("router"),
    }
    made = root.result("create_smart_contract_interface", interface)
    wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": [of.account]})
    (of.sign_with,) = wallet["addresses"]
    yield of
    ids = {"smartContractInterfaceId": made["smartContractInterfaceId"]}
    root.submitted("delete_smart_contract_interface", ids)


def sign(chain: Chain, caller: Caller, amount: int | None) -> httpx.Response:
    """Ask for the signature of a transaction of this amount. None: its data is cut short."""
    unsigned = chain.unsigned(chain.sign_with, amount).hex()
    params = {
        "signWith": chain.sign_with,
        "unsignedTransaction": unsigned,
        "type": f"TRANSACTION_TYPE_{chain.kind}",
    }
    return caller.submit("sign_transaction", params)


def outcome(response: httpx.Response) -> str:
    if response.status_code == 200:
        return str(response.json()["activity"]["status"]).removeprefix("ACTIVITY_STATUS_")
    assert refusal(response)[0] == 403
    (detail,) = response.json()["details"]
    return "EXPLICIT" if detail["message"].startswith("The following policies denied") else "IMPLICIT"


ANY = "ALLOW activity.action == 'SIGN'"
ROWS = [
    ("any signature", (ANY,), "COMPLETED", "COMPLETED"),
    ("small amounts", ("ALLOW {amount} <= 100",), "COMPLETED", "IMPLICIT"),
    ("this function", ("ALLOW {name} == 'route'",), "COMPLETED", "IMPLICIT"),
    ("no large amounts", (ANY, "DENY {amount} > 100"), "COMPLETED", "EXPLICIT"),
    ("not this function", (ANY, "DENY {name} == 'mint'"), "COMPLETED", "EXPLICIT"),
    ("no large amounts elsewhere", (ANY, "DENY {elsewhere} && {amount} > 100"), "COMPLETED", "COMPLETED"),
    ("not this function, negated", (ANY, "DENY !({name} == 'route')"), "COMPLETED", "EXPLICIT"),
    ("not by that key", (ANY, "DENY private_key.label == 'cold'"), "COMPLETED", "COMPLETED"),
]
"""Policies, and what becomes of a call that decodes, and of one that does not."""


@pytest.mark.parametrize(("policies", "read", "unread"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_policies_make_of_it(
    policies: tuple[str, ...], read: str, unread: str, chain: Chain, sqlite_server: Server
) -> None:
    root = sqlite_server.caller
    user, made = root.new_user(), []
    for written in policies:
        effect, _, condition = written.partition(" ")
        for word in ("amount", "name", "elsewhere"):
            condition = condition.replace(f"{{{word}}}", getattr(chain, word))
        made.append(policy_for(root, user, condition, effect))
    assert (outcome(sign(chain, user, 5)), outcome(sign(chain, user, None))) == (read, unread)
    root.submitted("delete_policies", {"policyIds": made})


def policy_for(root: Caller, user: Caller, condition: str, effect: str = "ALLOW") -> str:
    """Make a policy that is only about signatures that this user asks for. Returns its id."""
    consensus = f"approvers.any(u, u.id == '{user.user_id}')"
    params = policy_params(effect=f"EFFECT_{effect}", condition=condition, consensus=consensus)
    return str(root.result("create_policy", params)["policyId"])


def test_the_root_quorum_can_sign_it(chain: Chain, sqlite_server: Server) -> None:
    unsigned = chain.unsigned(chain.sign_with, None)
    activity = answered(sign(chain, sqlite_server.caller, None))["activity"]
    signed = bytes.fromhex(activity["result"]["signTransactionResult"]["signedTransaction"])
    if chain.kind == "SOLANA":
        assert VersionedTransaction.from_bytes(signed).verify_with_results() == [True]
        assert signed[65:] == unsigned[65:]
    else:
        assert rlp.decode(signed[1:])[:-3] == rlp.decode(unsigned[1:])


def test_more_proofs_are_asked_for(chain: Chain, sqlite_server: Server) -> None:
    """By an MFA policy about arguments; not by one about another contract."""
    root = sqlite_server.caller
    for condition, waits in (
        (f"{chain.amount} > 100", True),
        (f"{chain.elsewhere} && {chain.amount} > 100", False),
    ):
        user = root.new_user()
        policy_id = policy_for(root, user, "activity.action == 'SIGN'")
        steps = [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}]
        policy = {
            "userId": user.user_id,
            "mfaPolicyName": unique("careful"),
            "condition": condition,
            "requiredAuthenticationMethods": steps,
            "order": 0,
        }
        root.submitted("create_mfa_policy", policy)
        assert outcome(sign(chain, user, 5)) == "COMPLETED"
        expected = "AUTHENTICATORS_NEEDED" if waits else "COMPLETED"
        assert outcome(sign(chain, user, None)) == expected
        root.submitted("delete_policy", {"policyId": policy_id})
