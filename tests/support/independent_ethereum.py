"""eth-account, the independent library with which Ethereum's signatures are compared.

One of its dependencies raises the interpreter's recursion limit to where deeply nested JSON crashes the process;
import it from here, where the limit is put back.
"""

from __future__ import annotations

import sys

_limit = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402
from eth_account.messages import encode_defunct, encode_typed_data  # noqa: E402

sys.setrecursionlimit(_limit)

__all__ = ["Account", "encode_defunct", "encode_typed_data"]
