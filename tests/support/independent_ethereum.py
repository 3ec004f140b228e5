"""eth-account, the independent library with which Ethereum's signatures are compared.

One of its dependencies raises the interpreter's recursion limit to where deeply nested JSON crashes the process;
take what is in it from here, where the limit is put back. It is loaded when the first test asks for it: that takes
a second, and every process that runs tests collects all of them.
"""

from __future__ import annotations

import sys
from typing import Any

_NAMES = ("Account", "encode_defunct", "encode_typed_data")


def __getattr__(name: str) -> Any:
    if name not in _NAMES:  # pytest asks the modules that a test imports for attributes of its own
        raise AttributeError(name)
    limit = sys.getrecursionlimit()
    from eth_account import Account, messages

    sys.setrecursionlimit(limit)
    return Account if name == "Account" else getattr(messages, name)
