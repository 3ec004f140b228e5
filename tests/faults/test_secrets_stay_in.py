"""No secret in an answer, the log or the database: they are planted or unsealed, then looked for everywhere."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from keystead.api.enums import Curve
from keystead.chains.paths import effective_segments, parse_path
from keystead.keys.derivation import derive_private_key
from keystead.keys.material import WalletSecret
from keystead.keys.mnemonic import entropy_from_mnemonic
from keystead.keys.sealing import DataKey, Purpose, SealContext
from keystead.organizations.attachments import MNEMONIC_PURPOSE, PRIVATE_KEY_PURPOSE, SECRET_PURPOSE
from keystead.organizations.kinds.data_key import Sealed
from keystead.server.installation.new_organization import DEVELOPMENT_MNEMONIC
from keystead.signer.installation_keys import INSTALLATION_KEYS
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller
from tests.support.databases import PostgresDatabase, SqliteDatabase
from tests.support.issuers import taking_tokens
from tests.support.operation_examples import EXAMPLED, example_body, examples_of
from tests.support.organization_fixtures import (
    ETHEREUM_ACCOUNT,
    SOLANA_ACCOUNT,
    UNKNOWN_IDS,
    RecordIds,
    create_records,
)
from tests.support.servers import Installation, Server, bootstrap_installation

PURPOSES = {
    MNEMONIC_PURPOSE: Purpose.WALLET,
    PRIVATE_KEY_PURPOSE: Purpose.PRIVATE_KEY,
    SECRET_PURPOSE: Purpose.SECRET,
}


@pytest.fixture
def development(make_database: MakeDatabase) -> Iterator[Installation]:
    """A development installation: the mnemonic of its wallet is known."""
    installation = bootstrap_installation(make_database(), mode="dev")
    yield installation
    installation.database.close()


def test_secrets_stay_in(development: Installation, start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(development, log_level="debug", **taking_tokens(tmp_path))
    answers: list[bytes] = []
    server.http.event_hooks = {"response": [lambda response: answers.append(response.read())]}
    record_ids = create_records(server.caller)
    do_everything(server.caller, record_ids)
    assert server.stop() == 0
    places = {
        "an answer": b"\n".join(answers),
        "the log": server.log.read_bytes(),
        "the database": b"\n".join(development.database.values()),
    }
    if isinstance(development.database, SqliteDatabase):
        places["the file"] = development.database.path.read_bytes()
    secrets = dict(secrets_of(development, record_ids))
    assert len(secrets) > 12
    assert DEVELOPMENT_MNEMONIC.encode() in secrets.values()
    assert len([name for name in secrets if name.startswith("the mnemonic of")]) > 2
    assert len([name for name in secrets if name.startswith("the private-key ")]) > 2
    assert len([name for name in secrets if name.startswith("the import target ")]) > 2
    assert len([name for name in secrets if name.startswith("the secret ")]) > 1
    found = {
        f"{name} as {form} in {place}"
        for name, secret in secrets.items()
        for form, text in forms(secret).items()
        for place, content in places.items()
        if text in content
    }
    assert found == set()
    assert all(server.caller.organization_id.encode() in content for content in places.values())


def do_everything(caller: Caller, record_ids: RecordIds) -> None:
    """Every example: well stamped, unstamped, wrongly stamped, and with a defect in its body."""
    other = caller.with_key(generate_api_key())
    for operation in EXAMPLED:
        for name in examples_of(operation):
            activity_type = name if operation.activity_types else ""
            for place in (record_ids, UNKNOWN_IDS):
                caller.post(operation.path, example_body(caller, operation, place, activity_type), SDK_FORM)
            body = example_body(caller, operation, record_ids, activity_type)
            caller.http.post(operation.path, content=body)
            other.post(operation.path, body)
            caller.post(operation.path, body.replace(b"organizationId", b"organisationId"))
            caller.post(operation.path, body[:-1])


def secrets_of(installation: Installation, record_ids: RecordIds) -> Iterator[tuple[str, bytes]]:
    """By name: every secret that this installation has or was ever told."""
    master_key, database = installation.master_key, installation.database
    if isinstance(database, PostgresDatabase):
        yield "the database's password", database.url.split(":")[2].split("@")[0].encode()
    yield "the master key", bytes.fromhex(master_key.secret_text())
    yield "the root user's private key", bytes.fromhex(installation.key.private_key)
    for key in INSTALLATION_KEYS:
        ((sealed_key,),) = database.rows(f"SELECT value FROM instance WHERE name = '{key.name}'")
        scalars = master_key.open(msgspec.json.decode(sealed_key, type=Sealed), key.context)
        for at in range(0, len(scalars), 32):
            yield f"the {key.name}'s bytes from {at}", scalars[at : at + 32]
    sealed = "SELECT organization_id, record_id, purpose, key_id, ciphertext FROM sealed_secret"
    for organization_id, record_id, purpose, key_id, ciphertext in database.rows(sealed):
        data_key = data_key_of(installation, organization_id)
        context = SealContext(PURPOSES[purpose], organization_id=organization_id, record_id=record_id)
        opened = data_key.open(Sealed(key_id, bytes(ciphertext)), context)
        if purpose == MNEMONIC_PURPOSE:
            secret = msgspec.json.decode(opened, type=WalletSecret)
            yield from secrets_of_wallet(record_id, secret)
        else:
            yield f"the {purpose} {record_id}", opened
    organization = database.organization(installation.organization_id)
    for target in organization.import_targets.values():
        context = SealContext(
            Purpose.IMPORT_TARGET,
            organization_id=organization.id,
            record_id=f"{target.kind} {target.user_id} {target.id}",
        )
        yield (
            f"the import target {target.id}",
            data_key_of(installation, organization.id).open(target.sealed, context),
        )


def data_key_of(installation: Installation, organization_id: str) -> DataKey:
    sealed = installation.database.organization(organization_id).data_key.sealed
    return installation.master_key.open_data_key(sealed, organization_id)


def secrets_of_wallet(wallet_id: str, secret: WalletSecret) -> Iterator[tuple[str, bytes]]:
    yield f"the mnemonic of {wallet_id}", secret.mnemonic.encode()
    yield f"the last words of {wallet_id}", " ".join(secret.mnemonic.split()[-4:]).encode()
    yield f"the entropy of {wallet_id}", entropy_from_mnemonic(secret.mnemonic)[0]
    yield f"the seed of {wallet_id}", secret.seed
    for account in (ETHEREUM_ACCOUNT, SOLANA_ACCOUNT):
        curve = Curve(account["curve"])
        segments = effective_segments(curve, parse_path(account["path"]))
        yield f"the key of {wallet_id} at {account['path']}", derive_private_key(curve, secret.seed, segments)


def forms(secret: bytes) -> dict[str, bytes]:
    return {
        "bytes": secret,
        "hex": secret.hex().encode(),
        "upper-case hex": secret.hex().upper().encode(),
        "base64": b64encode(secret).rstrip(b"="),
        "base64url": urlsafe_b64encode(secret).rstrip(b"="),
    }


def test_what_is_looked_for_would_be_found() -> None:
    response = httpx.Response(200, content=b"..." + forms(b"secret \xff")["hex"] + b"...")
    assert any(text in response.content for text in forms(b"secret \xff").values())
