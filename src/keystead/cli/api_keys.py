"""`keystead api-key`: key pairs for stamps."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from keystead.api.enums import ApiKeyCurve
from keystead.cli.groups import group
from keystead.stamps.signing import generate_api_key

app = group("Make key pairs that stamp requests.")


@app.command("generate")
def generate(
    curve: Annotated[str, typer.Option(help="p256, secp256k1 or ed25519.")] = "p256",
) -> None:
    """Make a key pair and print it as JSON. It is not stored."""
    curves = {"p256": ApiKeyCurve.P256, "secp256k1": ApiKeyCurve.SECP256K1, "ed25519": ApiKeyCurve.ED25519}
    if curve not in curves:
        raise typer.BadParameter(f"{curve}: expected {', '.join(curves)}", param_hint="--curve")
    pair = generate_api_key(curves[curve])
    print(
        json.dumps(
            {"curve": curves[curve], "apiPublicKey": pair.public_key, "apiPrivateKey": pair.private_key}, indent=2
        )
    )
