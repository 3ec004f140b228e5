"""No repr of a request, an answer or a value in between shows a secret, so no log line and no traceback does."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

import keystead
from keystead.api.enums import ActivityStatus
from keystead.api.records import Activity, Timestamp, Wire
from keystead.api.secret_fields import SECRET_FIELDS
from keystead.operations import CATALOGUE
from keystead.operations.wallets.exporting import ExportWalletResult
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.signer_values import OtpAttempt
from keystead.pipeline.submission import read_submission
from keystead.server.http.messages import HttpAnswer, HttpRequest
from keystead.signer.rpc import calls
from tests.support.source_tree import assert_only

MAY_BE_SECRET = re.compile(
    r"token|session|bundle|secret|code|jwt|verifier|mnemonic|phrase|seed|password|attestation"
)

PUBLIC = {
    "attestation": "of a passkey: its public key",
    "attestation_object": "of a passkey: its public key",
    "attestation_type": "a name",
    "bearer_token_target_public_key": "a public key",
    "code": "of a warning or an error",
    "diagnostic_code": "of a mail server",
    "import_bundle": "a public key, signed",
    "mnemonic_length": "a number",
    "num_secrets": "a number",
    "otp_encryption_target_bundle": "a public key, signed",
    "secret_id": "an id",
    "secret_ids": "ids",
    "secrets": "structs of their own",
    "session_expiration_seconds": "a time",
    "session_expiry": "a time",
    "session_profile": "a struct of its own",
    "session_profile_id": "an id",
    "session_profile_name": "a name",
    "session_profiles": "structs of their own",
    "verification_token_expiration_seconds": "a time",
    "verification_token_required_for_get_account_pii": "a setting",
}
"""Fields of requests and answers whose names look like those of secrets, and what they hold."""

OTHER_MEANINGS = {
    "keys.token_key.TokenKeyName.token": "the label of a PKCS#11 token",
}
"""Fields that are called like a secret and hold none."""


def test_every_field_of_the_wire_that_may_be_secret_is_sorted() -> None:
    """A new one is added to SECRET_FIELDS, or to PUBLIC."""
    found = {name for kind in _structs() if issubclass(kind, Wire) for name in kind.__struct_fields__}
    assert_only({name for name in found if MAY_BE_SECRET.search(name)} - SECRET_FIELDS, PUBLIC, "secret or public?")


def test_no_repr_shows_a_secret_field() -> None:
    found = set()
    for kind in _structs():
        secret = SECRET_FIELDS & set(kind.__struct_fields__)
        if secret:
            values = {name: f"<{name}>" for name in kind.__struct_fields__}
            shown = repr(kind(**values))
            found |= {f"{kind.__module__}.{kind.__name__}.{name}" for name in secret if values[name] in shown}
    assert_only({name.removeprefix("keystead.") for name in found}, OTHER_MEANINGS, "shown by repr:")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (
            ExportWalletResult(wallet_id="an id", export_bundle="a bundle"),
            "ExportWalletResult(wallet_id='an id', …)",
        ),
        (OtpAttempt("123456", "02ab"), "OtpAttempt(public_key='02ab')"),
    ],
)
def test_what_a_repr_shows(value: msgspec.Struct, shown: str) -> None:
    assert repr(value) == shown
    assert repr((value,)) == f"({shown},)"


def test_no_repr_shows_a_whole_request_or_answer() -> None:
    parameters = {"oidcToken": "5ec7e7", "publicKey": f"02{'0' * 64}"}
    body = msgspec.json.encode(
        {
            "type": "ACTIVITY_TYPE_OAUTH_LOGIN",
            "timestampMs": "1",
            "organizationId": "01a213e1-cb3b-7317-82ef-d953418aed09",
            "parameters": parameters,
        }
    )
    operation = CATALOGUE.of_type("ACTIVITY_TYPE_OAUTH_LOGIN")
    assert isinstance(operation, ActivityOperation)
    values = (
        HttpRequest(path="/public/v1/submit/oauth_login", headers=[(b"x-session", b"5ec7e7")], body=body),
        HttpAnswer(200, [(b"content-type", b"application/json")], body),
        read_submission(operation, body),
        Activity(
            id="an id",
            organization_id="an organization",
            status=ActivityStatus.COMPLETED,
            type="ACTIVITY_TYPE_OAUTH_LOGIN",
            intent={"oauthLoginIntent": parameters},
            result={"oauthLoginResult": {"session": "5ec7e7"}},
            votes=(),
            fingerprint="sha256:00",
            can_approve=False,
            can_reject=False,
            created_at=Timestamp.from_ms(0),
            updated_at=Timestamp.from_ms(0),
        ),
    )
    assert all("5ec7e7" not in repr(value) for value in values)
    assert "/public/v1/submit/oauth_login" in repr(values[0])


@cache
def _structs() -> tuple[type[msgspec.Struct], ...]:
    """Every struct of every module."""
    for module in pkgutil.walk_packages(keystead.__path__, "keystead."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert calls(), "the structs of the signer's calls are made by this"
    return tuple(kind for kind in _below(msgspec.Struct) if kind.__module__.startswith("keystead."))


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
