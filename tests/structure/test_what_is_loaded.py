"""What each process loads: packages that only some need are imported where they are needed.

Each row imports a module in a fresh interpreter, and names what must not be loaded then.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVER = ("keystead.operations", "keystead.server", "keystead.storage")
SLOW = ("aiosmtplib", "asyncpg", "httpx", "mnemonic", "pyhpke", "rich", "webauthn")
"""Only for e-mail, PostgreSQL, calls to other servers, keys, a terminal, passkeys."""


@pytest.mark.parametrize(
    ("module", "not_loaded"),
    [
        ("keystead", ("keystead.client", *SLOW)),
        ("keystead.client", (*SERVER, "typer")),
        (
            "keystead.client.client",
            (*SERVER, "keystead.chains"),
        ),
        ("keystead.server.run", ("typer", "keystead.cli", *SLOW)),
        (
            "keystead.signer.process",
            (*SERVER, "httptools", *SLOW),
        ),
        ("keystead.cli.operator.serving", ("keystead.operations", "keystead.storage", "uvloop", *SLOW)),
        ("keystead.cli.operator.migrating", ("keystead.operations", "keystead.server", "keystead.keys", *SLOW)),
    ],
)
def test_not_loaded(module: str, not_loaded: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[each for each in {not_loaded!r} if each in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == []
