"""What to use instead of an operation that is not implemented: the text of its refusal (501).

Not here: which operations are implemented (the catalogue), and the refusal itself (`server`).
"""

from __future__ import annotations

from collections.abc import Mapping

_SEND = "sign with sign_transaction and send the signed transaction to a node of the chain"
_ASK_A_NODE = "ask a node of the chain"

ALTERNATIVES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "eth_send_raw_transaction",
            "eth_send_transaction",
            "eth_undelegate_7702",
            "get_send_transaction_status",
            "sol_send_transaction",
        ),
        _SEND,
    ),
    **dict.fromkeys(
        (
            "get_gas_usage",
            "get_nonces",
            "get_wallet_address_balances",
            "list_eth_transaction_history",
            "list_sol_transaction_history",
        ),
        _ASK_A_NODE,
    ),
}
"""What to use instead, by operation. The products of the public service (swaps, on-ramps, Earn, TVC, Spark) have no
alternative here."""


def not_implemented(operation: str) -> str:
    """The text of the refusal of an operation of the public schema, by its name: what to use instead, if any."""
    text = f"{operation} is not implemented by this version of Keystead"
    alternative = ALTERNATIVES.get(operation)
    return f"{text}; instead: {alternative}" if alternative else f"{text}; docs/coverage.md lists what is"
