"""The worst requests that are known for each operation and decoder: large, deep, wide, or expensive to check.

For each limit: the most that is accepted, and a little more. Here: how each is built and sent. Not here: the
transactions (`worst_transactions`), how long others wait meanwhile (`delays`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from fuzz.costly_decisions import costly_decision, costly_list
from fuzz.costly_editing import explanation, session_profile, trial
from fuzz.costly_votes import approved_activity
from fuzz.large_organizations import tag_of_many_users
from fuzz.largest_requests import Largest, largest_requests
from fuzz.worst_transactions import (
    Build,
    access_list,
    bitcoin_inputs,
    calldata,
    contract_call,
    idl_of_instructions,
    idl_of_members,
    nested_lists,
    program_calls,
    separate_lists,
    shared_lists,
    solana_instructions,
    solana_version_1,
    tempo_calls,
    tron_memo,
)
from keystead.chains.bounds import (
    ABI_ENTRIES_MAX,
    IDL_INSTRUCTIONS_MAX,
    PATHS_SEGMENTS_MAX,
    PAYLOAD_CHARACTERS_MAX,
    TYPED_DATA_DELIMITERS_MAX,
)
from keystead.organizations.kinds.policies import CHARACTERS_PER_POLICY, POLICY_CHARACTERS
from tests.support.callers import Caller, encoded, unique, user_params
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, RecordIds, interface_params
from tests.support.passkeys import SoftPasskey

AUTHENTICATED_MS = 250
"""The longest that a tenant may wait for what another, authenticated tenant sends."""
UNAUTHENTICATED_MS = 50
"""The longest that a tenant may wait for what a stranger sends."""
BODY_BYTES_MAX = 1_048_576

Send = Callable[[Caller, RecordIds], httpx.Response]


@dataclass(frozen=True)
class Case:
    """`send` sends one request of its kind, to which a tenant is answered `status` the first time. `bound_ms`: how
    long another tenant may wait meanwhile."""

    name: str
    send: Send
    status: int = 200
    bound_ms: int = AUTHENTICATED_MS


@dataclass(frozen=True)
class MakeCase:
    """`build` builds the case for an organization with these records. `by_parent`: that organization has no parent,
    because sub-organizations are refused."""

    name: str
    build: Callable[[RecordIds], Case]
    by_parent: bool = False


def _submission(operation: str, parameters: Callable[[], dict[str, Any]]) -> Send:
    return lambda caller, _: caller.submit(operation, parameters())


def _transaction(kind: str, build: Build) -> Send:
    def send(caller: Caller, records: RecordIds) -> httpx.Response:
        signer, unsigned = build(caller, records)
        parameters = {"type": f"TRANSACTION_TYPE_{kind}", "unsignedTransaction": unsigned.hex(), "signWith": signer}
        return caller.submit("sign_transaction", parameters)

    return send


def _payload(text: str, encoding: str, hash_function: str) -> Send:
    parameters = {
        "payload": text,
        "encoding": f"PAYLOAD_ENCODING_{encoding}",
        "hashFunction": f"HASH_FUNCTION_{hash_function}",
    }
    return lambda caller, records: caller.submit(
        "sign_raw_payload", parameters | {"signWith": records.private_key_id}
    )


def _whoami(body: bytes) -> Send:
    return lambda caller, _: caller.post("/public/v1/query/whoami", body)


def _stranger(body: bytes, headers: dict[str, str]) -> Send:
    return lambda caller, _: caller.http.post("/public/v1/query/whoami", content=body, headers=headers)


def _long_name() -> dict[str, Any]:
    return {"walletName": "a" * 900_000, "accounts": []}


def _condition(characters: int) -> str:
    """The condition of this length that takes longest to compile, of those that are known."""
    return "||".join(["1<1"] * ((characters + 2) // 5)).ljust(characters)


def _long_policy(beyond: int) -> Callable[[], dict[str, Any]]:
    condition = _condition(CHARACTERS_PER_POLICY.default + beyond)
    return lambda: {"policyName": unique("policy"), "effect": "EFFECT_ALLOW", "condition": condition}


_HAS_CHARACTERS = 1_000
"""More than the policies of a tenant have before."""


def _many_policies(beyond: int) -> Callable[[], dict[str, Any]]:
    """As many characters as all policies of an organization may have, besides those that it has."""
    whole, rest = divmod(POLICY_CHARACTERS.default - _HAS_CHARACTERS + beyond, CHARACTERS_PER_POLICY.default)
    sizes = [CHARACTERS_PER_POLICY.default] * whole + [rest] * bool(rest)
    policies = [{"effect": "EFFECT_DENY", "condition": _condition(size)} for size in sizes]
    return lambda: {"policies": [policy | {"policyName": unique("policy")} for policy in policies]}


def _wallet(accounts: int, depth: int) -> Callable[[], dict[str, Any]]:
    below = "/0'" * (depth - 1)
    paths = [ETHEREUM_ACCOUNT | {"path": f"m/{n}'{below}"} for n in range(accounts)]
    return lambda: {"walletName": unique("wallet"), "accounts": paths}


def _long_interface(functions: int) -> Callable[[], dict[str, Any]]:
    listed = [{"type": "function", "name": f"f{n}", "inputs": [], "outputs": []} for n in range(functions)]
    return lambda: interface_params(smartContractInterface=json.dumps(listed))


def _typed_data(depth: int, width: int) -> str:
    """Structures in structures: `width` members of each, all of the same type."""
    types: dict[str, Any] = {
        f"T{level}": [{"name": f"f{n}", "type": f"T{level + 1}"} for n in range(width)] for level in range(depth)
    }
    types |= {f"T{depth}": [{"name": "x", "type": "uint256"}], "EIP712Domain": [{"name": "name", "type": "string"}]}
    value: dict[str, Any] = {"x": "1"}
    for _ in range(depth):
        value = {f"f{n}": value for n in range(width)}
    return json.dumps({"types": types, "primaryType": "T0", "domain": {"name": "n"}, "message": value})


def _loops() -> dict[str, Any]:
    """40 conditions that take 100,000 steps each, and that no request changes."""
    numbers = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    condition = "a == b || c == d"
    for variable in "dcba":
        condition = f"{numbers}.all({variable}, {condition})"
    policy = {"effect": "EFFECT_DENY", "condition": " || ".join([condition] * 30)}
    return {"policies": [policy | {"policyName": unique("policy")} for _ in range(10)]}


def _passkeys(of_each: int) -> Callable[[], dict[str, Any]]:
    """100 users, each with this number of passkeys."""

    def users() -> dict[str, Any]:
        passkeys = [[SoftPasskey().params() for _ in range(of_each)] for _ in range(100)]
        return {"users": [user_params("") | {"apiKeys": [], "authenticators": each} for each in passkeys]}

    return users


def _empty_structures(count: int) -> str:
    types = {"A": [{"name": "v", "type": "B[]"}], "B": []}
    document = {"types": types, "primaryType": "A", "domain": {}, "message": {"v": [{}] * count}}
    return json.dumps(document, separators=(",", ":"))


_EMPTY_STRUCTURES_MAX = (TYPED_DATA_DELIMITERS_MAX - sum(map(_empty_structures(0).count, ",[{")) + 1) // 2
"""Each has a bracket, and a comma before it."""


def _largest_case(largest: Largest, records: RecordIds) -> Case:
    """The largest request of one operation (`largest_requests`). It is built now, with what it names; sent again,
    it names what is there already."""
    parameters = largest.parameters(records)
    return Case(
        largest.name, lambda caller, _: caller.post(largest.operation.path, largest.body(caller, parameters))
    )


def _typed_payloads(caller: Caller, records: RecordIds) -> httpx.Response:
    """As many payloads of empty structures as a body has room for, of which one would be too many already."""
    parameters = {
        "payloads": [_empty_structures(_EMPTY_STRUCTURES_MAX)] * (BODY_BYTES_MAX // 52_000),
        "signWith": records.private_key_id,
        "encoding": "PAYLOAD_ENCODING_EIP712",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    return caller.submit("sign_raw_payloads", parameters)


_ASSERTION = json.dumps(
    {"credentialId": "AAAA", "clientDataJson": "AAAA", "authenticatorData": "AAAA", "signature": "AAAA"}
)

CASES = (
    Case("nothing but small requests, to compare with", lambda c, _: c.ask("whoami")),
    Case("a name of 900 kB", _submission("create_wallet", _long_name), 400),
    Case("500,000 brackets", _whoami(b'{"organizationId":' + b"[" * 500_000), 400),
    Case("300,000 numbers", _whoami(encoded({"organizationId": "", "x": [1] * 300_000})), 400),
    Case("the longest policy", _submission("create_policy", _long_policy(0))),
    Case("a policy that is too long", _submission("create_policy", _long_policy(1)), 400),
    Case("the longest policies together", _submission("create_policies", _many_policies(0))),
    Case(
        "policies that are too long together", _submission("create_policies", _many_policies(_HAS_CHARACTERS)), 429
    ),
    Case("policies of loops", _submission("create_policies", _loops)),
    Case("1,000 passkeys", _submission("create_users", _passkeys(10))),
    Case("1,100 passkeys", _submission("create_users", _passkeys(11)), 429),
    Case("the deepest wallet of 50 accounts", _submission("create_wallet", _wallet(50, PATHS_SEGMENTS_MAX // 50))),
    Case("the deepest wallet of 1,000", _submission("create_wallet", _wallet(1_000, PATHS_SEGMENTS_MAX // 1_000))),
    Case("a wallet that is too deep", _submission("create_wallet", _wallet(1_000, 11)), 400),
    Case("the longest interface", _submission("create_smart_contract_interface", _long_interface(ABI_ENTRIES_MAX))),
    Case(
        "an interface that is too long",
        _submission("create_smart_contract_interface", _long_interface(ABI_ENTRIES_MAX + 1)),
        400,
    ),
    Case("the longest calldata", _transaction("ETHEREUM", calldata(0))),
    Case("calldata that is too long", _transaction("ETHEREUM", calldata(1)), 400),
    Case("the longest access list", _transaction("ETHEREUM", access_list(0))),
    Case("an access list that is too long", _transaction("ETHEREUM", access_list(1)), 400),
    Case("a call whose ABI shares one list", _transaction("ETHEREUM", contract_call(shared_lists, 0))),
    Case("a call of as many lists as fit", _transaction("ETHEREUM", contract_call(separate_lists, 0))),
    Case("the most calls of Tempo", _transaction("TEMPO", tempo_calls(0))),
    Case("too many calls of Tempo", _transaction("TEMPO", tempo_calls(1)), 400),
    Case("an IDL of as many members as may be read", _transaction("SOLANA", program_calls(idl_of_members(9_000)))),
    Case(
        "an IDL of instructions of 16 discriminators each",
        _transaction("SOLANA", program_calls(idl_of_instructions(IDL_INSTRUCTIONS_MAX))),
    ),
    Case("lists in lists as RLP", _transaction("ETHEREUM", nested_lists()), 400),
    Case("the most inputs of a PSBT", _transaction("BITCOIN", bitcoin_inputs(0))),
    Case("a PSBT of too many inputs", _transaction("BITCOIN", bitcoin_inputs(3)), 400),
    Case("the longest Tron transaction", _transaction("TRON", tron_memo(0))),
    Case("a Tron transaction that is too long", _transaction("TRON", tron_memo(1)), 400),
    Case("the most instructions of Solana", _transaction("SOLANA", solana_instructions(0))),
    Case("too many instructions of Solana", _transaction("SOLANA", solana_instructions(1)), 400),
    Case("the longest Solana transaction of version 1", _transaction("SOLANA", solana_version_1(0))),
    Case("one that is too long", _transaction("SOLANA", solana_version_1(1)), 400),
    Case("typed data of 4,096 structures", _payload(_typed_data(12, 2), "EIP712", "NO_OP")),
    Case("typed data 900 structures deep", _payload(_typed_data(900, 1), "EIP712", "NO_OP"), 400),
    Case("the most empty structures", _payload(_empty_structures(_EMPTY_STRUCTURES_MAX), "EIP712", "NO_OP")),
    Case("too many structures", _payload(_empty_structures(_EMPTY_STRUCTURES_MAX + 1), "EIP712", "NO_OP"), 400),
    Case("the most typed data at once", _typed_payloads, 400),
    Case("the most to hash", _payload("00" * (PAYLOAD_CHARACTERS_MAX // 2), "HEXADECIMAL", "KECCAK256")),
    Case("too much to hash", _payload("00" * (PAYLOAD_CHARACTERS_MAX // 2 + 1), "HEXADECIMAL", "KECCAK256"), 400),
    Case("a list of 100 activities", lambda c, _: c.ask("list_activities", paginationOptions={"limit": "100"})),
    Case("a decision by the most expensive policies", costly_decision, 403),
    Case("a list of activities that wait under expensive policies", costly_list),
    Case("an activity with the most approvals", approved_activity),
    Case("an explanation of a long policy", explanation),
    Case("a trial of a long policy on many activities", trial),
    Case("a long scope of a session profile", session_profile),
    Case("a tag of as many users as a request names", tag_of_many_users),
    Case("every interface with its text", lambda c, _: c.ask("list_smart_contract_interfaces")),
    Case("a megabyte without a stamp", _stranger(b"[" * (BODY_BYTES_MAX - 1), {}), 401, UNAUTHENTICATED_MS),
    Case("a long stamp", _stranger(b"{" * (BODY_BYTES_MAX - 1), {"X-Stamp": "e" * 4_000}), 401, UNAUTHENTICATED_MS),
    Case(
        "an unknown passkey over a megabyte",
        lambda caller, _: caller.http.post(
            "/public/v1/query/whoami",
            content=encoded({"organizationId": caller.organization_id, "y": [1] * 500_000}),
            headers={"X-Stamp-Webauthn": _ASSERTION},
        ),
        401,
        UNAUTHENTICATED_MS,
    ),
)


def every_case() -> list[MakeCase]:
    """The cases above, and the largest request of each operation."""
    of_operations = [
        MakeCase(largest.name, functools.partial(_largest_case, largest), by_parent=largest.is_of_parent)
        for largest in largest_requests()
        if largest.is_current
    ]
    return [*(_made(case) for case in CASES), *of_operations]


def _made(case: Case) -> MakeCase:
    return MakeCase(case.name, lambda _: case)
