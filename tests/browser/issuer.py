"""An issuer of ID tokens that a script runs on this machine: its address and its key, made here."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.issuers import base64url


class IssuerOnThisMachine:
    """`keys_file`: its public key, as `--oidc-keys-file` takes it. `environment`: for the script that runs it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://localhost:{probe.getsockname()[1]}"
        key = _private_jwk()
        self.keys_file = folder / "issuers.json"
        self.keys_file.write_text(
            json.dumps({self.url: {"keys": [{name: key[name] for name in key if name != "d"}]}})
        )
        self.environment = {"KEYSTEAD_ISSUER": self.url, "KEYSTEAD_ISSUER_KEY": json.dumps(key)}


def _private_jwk() -> dict[str, str]:
    private = ec.generate_private_key(ec.SECP256R1()).private_numbers()
    point = private.public_numbers
    numbers = {"x": point.x, "y": point.y, "d": private.private_value}
    members = {name: base64url(number.to_bytes(32)) for name, number in numbers.items()}
    return {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "tests", **members}
