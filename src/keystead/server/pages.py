"""The pages that answer GET without a stamp: the struct of each answer, for the server and its OpenAPI document.

Not here: what the structs hold at run time (`service`).
"""

from __future__ import annotations

from typing import Any, Literal

from keystead.api.openapi import OpenPage, openapi_document
from keystead.api.records import Wire
from keystead.operations import CATALOGUE
from keystead.pipeline.signer_values import BundleSigner, PublicInstallationKey


class Health(Wire, frozen=True):
    status: Literal["ok"]


class Readiness(Wire, frozen=True):
    status: Literal["ready"]


class ServerProgram(Wire, frozen=True):
    """`tables`: the version of the database's tables that the program knows."""

    name: str
    version: str
    tables: int


class InstallationKeys(Wire, frozen=True):
    keys: tuple[PublicInstallationKey, ...]


PAGES = (
    OpenPage("/healthz", "healthz", "This process lives.", Health),
    OpenPage("/version", "version", "Which program this is.", ServerProgram),
    OpenPage(
        "/readyz",
        "readyz",
        "The database and the signer answer, the database is migrated and can be written.",
        Readiness,
        needs_signer=True,
    ),
    OpenPage(
        "/bundle-signer",
        "bundle_signer",
        "The public key that verifies the signatures of export and import bundles.",
        BundleSigner,
        needs_signer=True,
    ),
    OpenPage(
        "/installation-keys",
        "installation_keys",
        "The public keys of this installation, which clients have to be told.",
        InstallationKeys,
        needs_signer=True,
    ),
    OpenPage("/openapi.json", "openapi", "This document.", None),
)
"""The pages with JSON for programs, without the key set of webhooks, whose form is RFC 7517."""


def api_document() -> dict[str, Any]:
    """The OpenAPI document of every operation and page of this server."""
    return openapi_document(CATALOGUE, PAGES)
