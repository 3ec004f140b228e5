"""Every case of every file in tests/vectors is consumed by a test.

How: the tables of the tests that read the files are context from their `parametrize` marks, and each case must be
in one, as it is or by its id. What is not for this server to read is named here.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parent / "vectors"

READERS = {
    "addresses": [
        "tests.chains.test_addresses",
        "tests.keys.test_derivation",
        "tests.keys.test_mnemonic",
        "tests.signer.test_local",
    ],
    "public_reports": [
        "tests.chains.bitcoin.test_bitcoin",
        "tests.chains.ethereum.test_typed_data",
        "tests.operations.test_public_reports",
    ],
    "program_interfaces": ["tests.chains.solana.test_solana_interfaces"],
    "hpke": ["tests.keys.test_bundles", "tests.signer.test_tokens"],
    "signing": ["tests.operations.test_signing_vectors", "tests.chains.ethereum.test_ethereum"],
    "stamps": ["tests.server.test_stamp_vectors"],
    "tokens": ["tests.sessions.test_vectors", "tests.sessions.test_webhook_signatures"],
    "tron": ["tests.chains.tron.test_tron"],
    "wallet_logins": ["tests.chains.test_login_messages"],
}
NO_CASES = {"how", "idls", "suite", "keys", "ids", "webauthnRegistration", "oidc", "sessionPublicKey", "nowMs"}
"""What the cases have in common."""

FOR_CLIENTS = {
    "import-client-refuses-other-user": "refused by the client, before anything is sent",
    "import-client-refuses-other-org": "refused by the client, before anything is sent",
    "import-client-refuses-unpinned-signer": "refused by the client, before anything is sent",
    "otp-client-refuses-unpinned-signer": "refused by the client, before anything is sent",
    "credential-bundle-bad-checksum": "the checksum around it is the client's; the ciphertext is good",
    "onramp-secret": "an activity that is not served",
}


def cases() -> Iterator[Any]:
    for path in sorted(VECTORS.glob("*.json")):
        for section, rows in json.loads(path.read_bytes()).items():
            if isinstance(rows, list):
                for number, row in enumerate(rows):
                    yield pytest.param(path.stem, row, id=f"{path.stem}-{section}-{row.get('id', number)}")


def consumed(module: str) -> Iterator[str]:
    """All values in the tables of a module's tests, as text."""
    for name, test in vars(importlib.import_module(module)).items():
        for mark in getattr(test, "pytestmark", []) if name.startswith("test_") else []:
            if mark.name == "parametrize":
                names = mark.kwargs.get("ids")
                for row in [*mark.args[1], *(names if isinstance(names, list) else [])]:
                    yield from texts(row.values if isinstance(row, tuple) and hasattr(row, "values") else row)


def texts(value: Any) -> Iterator[str]:
    yield json.dumps(value, default=str, sort_keys=True)
    if isinstance(value, tuple):
        for item in value:
            yield from texts(item)


@pytest.fixture(scope="module")
def tables() -> dict[str, set[str]]:
    return {name: {text for module in modules for text in consumed(module)} for name, modules in READERS.items()}


@pytest.mark.parametrize(("file", "case"), list(cases()))
def test_consumed(file: str, case: dict[str, Any], tables: dict[str, set[str]]) -> None:
    named = case.get("id")
    if named in FOR_CLIENTS:
        assert file == "hpke"
        return
    assert {json.dumps(case, sort_keys=True), json.dumps(named)} & tables[file]


def test_nothing_in_the_files_is_overlooked() -> None:
    for path in VECTORS.glob("*.json"):
        assert path.stem in READERS
        rest = {name for name, rows in json.loads(path.read_bytes()).items() if not isinstance(rows, list)}
        assert rest <= NO_CASES | {"mnemonic", "passphrase", "seed", "addresses"}
