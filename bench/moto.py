"""A server to compare with: moto's emulation of AWS KMS, a Python server with its keys in memory.

Here: its process, and its requests. It verifies no signature of a request, evaluates no policy, and stores
nothing.
"""

from __future__ import annotations

import base64
import http.client
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.measuring import Subject
from bench.server import Server, free_port, running_command
from bench.stamping import posted

_MOTO = Path(sys.executable).parent / "moto_server"
_DIGEST_BYTES = 32


@contextmanager
def moto_signing(folder: Path, cores: Set[int]) -> Iterator[Subject]:
    """Run moto on these cores. Its requests ask for ECDSA signatures by a secp256k1 key. Raises BenchFailure."""
    port = free_port()
    command: list[str | Path] = [_MOTO, "--host", "127.0.0.1", "--port", str(port)]
    with running_command(command, os.environ, port, "/moto-api/", folder / "moto.log", cores) as server:
        key_id = _new_key(server)

        def requests(count: int) -> list[bytes]:
            return [_signing(server, key_id) for _ in range(count)]

        yield Subject(requests, [server])


def _new_key(server: Server) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    body = msgspec.json.encode({"KeySpec": "ECC_SECG_P256K1", "KeyUsage": "SIGN_VERIFY"})
    connection.request("POST", "/", body, _headers("CreateKey"))
    made = msgspec.json.decode(connection.getresponse().read())
    connection.close()
    return str(made["KeyMetadata"]["KeyId"])


def _signing(server: Server, key_id: str) -> bytes:
    asked: dict[str, Any] = {
        "KeyId": key_id,
        "Message": base64.b64encode(secrets.token_bytes(_DIGEST_BYTES)).decode(),
        "MessageType": "DIGEST",
        "SigningAlgorithm": "ECDSA_SHA_256",
    }
    return posted("/", f"127.0.0.1:{server.port}", _headers("Sign"), msgspec.json.encode(asked))


def _headers(action: str) -> Mapping[str, str]:
    """The headers of an AWS client. The signature of the request is zero; moto does not verify it."""
    return {
        "X-Amz-Target": f"TrentService.{action}",
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/kms/aws4_request, "
        f"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={'0' * 64}",
    }
