"""The worst request that is known for each operation and decoder: large, deep, wide, or expensive to check.

Here: how each is built and sent. Not here: how long others wait meanwhile (`delays`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from fuzz.largest_requests import Largest, largest_requests
from tests.support.callers import Caller, encoded, unique, user_params
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, RecordIds, interface_params
from tests.support.passkeys import SoftPasskey

AUTHENTICATED_MS = 250
"""The longest that a tenant may wait for what another, authenticated tenant sends."""
UNAUTHENTICATED_MS = 50
"""The longest that a tenant may wait for what a stranger sends."""
BODY_BYTES_MAX = 1_048_576
TEXT_BYTES = 480_000
"""Nearly as much as two hex digits for each byte leave room for."""

Send = Callable[[Caller, RecordIds], httpx.Response]


@dataclass(frozen=True)
class Case:
    """`send` sends one request of its kind. `bound_ms`: how long another tenant may wait meanwhile."""

    name: str
    send: Send
    bound_ms: int = AUTHENTICATED_MS


def _submission(operation: str, parameters: Callable[[], dict[str, Any]]) -> Send:
    return lambda caller, _: caller.submit(operation, parameters())


def _transaction(kind: str, unsigned: str) -> Send:
    parameters = {"type": f"TRANSACTION_TYPE_{kind}", "unsignedTransaction": unsigned}
    return lambda caller, records: caller.submit(
        "sign_transaction", parameters | {"signWith": records.private_key_id}
    )


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


def _long_policy() -> dict[str, Any]:
    condition = " || ".join(f"eth.tx.to == '0x{n:040x}'" for n in range(9_000))
    return {"policyName": unique("policy"), "effect": "EFFECT_ALLOW", "condition": condition}


def _many_policies() -> dict[str, Any]:
    listed = ", ".join(f"'0x{n:040x}'" for n in range(90))
    policy = {"effect": "EFFECT_DENY", "condition": f"eth.tx.to in [{listed}]"}
    return {"policies": [policy | {"policyName": unique("policy")} for _ in range(90)]}


def _wallet(accounts: int, depth: int) -> Callable[[], dict[str, Any]]:
    below = "/0'" * (depth - 1)
    paths = [ETHEREUM_ACCOUNT | {"path": f"m/{n}'{below}"} for n in range(accounts)]
    return lambda: {"walletName": unique("wallet"), "accounts": paths}


def _long_interface() -> dict[str, Any]:
    functions = [{"type": "function", "name": f"f{n}", "inputs": [], "outputs": []} for n in range(4_000)]
    return interface_params(smartContractInterface=json.dumps(functions))


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


def _calldata(size: int) -> str:
    """An EIP-1559 transaction with so many bytes of calldata."""
    data = b"\xba" + size.to_bytes(3) + b"\x55" * size
    items = b"\x01\x01\x01\x01\x82\x52\x08\x94" + b"\x11" * 20 + b"\x80" + data + b"\xc0"
    return (b"\x02\xfa" + len(items).to_bytes(3) + items).hex()


def _loops() -> dict[str, Any]:
    """40 conditions that take 100,000 steps each, and that no request changes."""
    numbers = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    condition = "a == b || c == d"
    for variable in "dcba":
        condition = f"{numbers}.all({variable}, {condition})"
    policy = {"effect": "EFFECT_DENY", "condition": " || ".join([condition] * 30)}
    return {"policies": [policy | {"policyName": unique("policy")} for _ in range(10)]}


def _passkeys() -> dict[str, Any]:
    """100 users with ten passkeys each."""
    passkeys = [SoftPasskey().params() for _ in range(10)]
    return {"users": [user_params("") | {"apiKeys": [], "authenticators": passkeys} for _ in range(100)]}


def _empty_structures() -> str:
    types = {"A": [{"name": "v", "type": "B[]"}], "B": []}
    document = {"types": types, "primaryType": "A", "domain": {}, "message": {"v": [{}] * 16_000}}
    return json.dumps(document, separators=(",", ":"))


def largest_cases(records: RecordIds) -> tuple[Case, ...]:
    """The largest request of each operation that a sub-organization has (`largest_requests`). All are built now,
    before any is sent; sent again, one names what is there already."""
    return tuple(
        Case(largest.name, _largest(largest, largest.parameters(records)))
        for largest in largest_requests()
        if largest.is_current and not largest.is_of_parent
    )


def _largest(largest: Largest, parameters: dict[str, Any]) -> Send:
    return lambda caller, _: caller.post(largest.operation.path, largest.body(caller, parameters))


_ASSERTION = json.dumps(
    {"credentialId": "AAAA", "clientDataJson": "AAAA", "authenticatorData": "AAAA", "signature": "AAAA"}
)

CASES = (
    Case("nothing but small requests, to compare with", lambda c, _: c.ask("whoami")),
    Case("a name of 900 kB", _submission("create_wallet", _long_name)),
    Case("500,000 brackets", _whoami(b'{"organizationId":' + b"[" * 500_000)),
    Case("300,000 numbers", _whoami(encoded({"organizationId": "", "x": [1] * 300_000}))),
    Case("a policy of 9,000 comparisons", _submission("create_policy", _long_policy)),
    Case("policies of 360 kB together", _submission("create_policies", _many_policies)),
    Case("policies of loops", _submission("create_policies", _loops)),
    Case("1,000 passkeys", _submission("create_users", _passkeys)),
    Case("a wallet of 100 accounts, 200 deep", _submission("create_wallet", _wallet(100, 200))),
    Case("a wallet of 1,000 accounts, 5 deep", _submission("create_wallet", _wallet(1_000, 5))),
    Case("an interface of 4,000 functions", _submission("create_smart_contract_interface", _long_interface)),
    Case("a transaction with 480 kB of calldata", _transaction("ETHEREUM", _calldata(TEXT_BYTES))),
    Case("480,000 lists in lists as RLP", _transaction("ETHEREUM", "c1" * TEXT_BYTES)),
    Case("480 kB as a PSBT", _transaction("BITCOIN", "70736274ff" + "01000101" * (TEXT_BYTES // 4))),
    Case("480 kB as a Tron transaction", _transaction("TRON", "0a020001" * (TEXT_BYTES // 4))),
    Case("480 kB as a Solana transaction", _transaction("SOLANA", "00" * TEXT_BYTES)),
    Case("typed data of 4,096 structures", _payload(_typed_data(12, 2), "EIP712", "NO_OP")),
    Case("typed data 900 structures deep", _payload(_typed_data(900, 1), "EIP712", "NO_OP")),
    Case("typed data of 16,000 empty structures", _payload(_empty_structures(), "EIP712", "NO_OP")),
    Case("480 kB to hash", _payload("00" * TEXT_BYTES, "HEXADECIMAL", "KECCAK256")),
    Case("a list of 100 activities", lambda c, _: c.ask("list_activities", paginationOptions={"limit": "100"})),
    Case("every interface with its text", lambda c, _: c.ask("list_smart_contract_interfaces")),
    Case("a megabyte without a stamp", _stranger(b"[" * (BODY_BYTES_MAX - 1), {}), UNAUTHENTICATED_MS),
    Case("a long stamp", _stranger(b"{" * (BODY_BYTES_MAX - 1), {"X-Stamp": "e" * 4_000}), UNAUTHENTICATED_MS),
    Case(
        "an unknown passkey over a megabyte",
        _stranger(encoded({"organizationId": "x", "y": [1] * 500_000}), {"X-Stamp-Webauthn": _ASSERTION}),
        UNAUTHENTICATED_MS,
    ),
)
