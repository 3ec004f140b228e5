"""`keystead policy lint`, and how warnings about policies are printed.

Not here: the warnings (`policies.linting`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from keystead.cli.credentials import CredentialsFile
from keystead.cli.policies.case_files import malformed_files, policies_at
from keystead.cli.policies.rules import live_warnings
from keystead.cli.requests import format_json, open_client
from keystead.cli.tables import AsJson
from keystead.cli.texts import printable
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import alternatives
from keystead.policies.linting.literals import KnownIds
from keystead.policies.linting.warnings import PolicyWarning, ServerSettings, policy_warnings


def print_warnings(warnings: Iterable[PolicyWarning]) -> None:
    for warning in warnings:
        print(f"keystead: WARNING  {printable(warning.message)} [{warning.code}]", file=sys.stderr)


def lint(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", exists=True, help="Files or folders of policies, in TOML or JSON."),
    ] = None,
    credentials: CredentialsFile = None,
    as_json: AsJson = False,
) -> None:
    """Print warnings about policies.

    There is one for a policy that never applies, that denies nothing, or that can be bypassed. Without a path, the
    policies of the organization are checked. Files are checked without a server; `diff` and `apply` also check
    whether ids exist. Exit code 0 if there is no warning, 1 if there is one, 2 if a file is malformed.
    """
    if places:
        with malformed_files():
            policies = policies_at(places)
        steps = policy_warnings(policies, KnownIds(are_uuids=True), ServerSettings(), alternatives(CATALOGUE))
        warnings = [warning for step in steps for warning in step]
    else:
        with open_client(credentials) as client:
            warnings = live_warnings(client)
    if as_json:
        print(format_json(msgspec.to_builtins(warnings)))
    else:
        for warning in warnings:
            print(f"{printable(warning.message)} [{warning.code}]")
        if not warnings:
            print("No warnings.")
    if warnings:
        raise typer.Exit(1)
