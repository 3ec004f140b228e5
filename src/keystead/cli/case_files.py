"""Files of test cases and of policies: finding and decoding them (TOML, or JSON by the suffix).

Not here: what they may hold (`policies.testing`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from keystead.api.records import Policy
from keystead.policies.testing.cases import CaseFile
from keystead.policies.testing.organization import read_policies
from keystead.policies.testing.schema import MalformedTable, read

SUFFIXES = (".toml", ".json")


def case_file(path: Path) -> CaseFile:
    """Raises MalformedTable."""
    return read(_decoded(path), CaseFile, str(path))


def policies_of(file: CaseFile, path: Path) -> list[Policy] | None:
    """The policies that a file of cases names or holds; None if it has no `policies`. Raises MalformedTable."""
    if file.policies is None:
        return None
    given = (file.policies,) if isinstance(file.policies, str) else file.policies
    documents: list[tuple[str, Any]] = []
    for number, each in enumerate(given, 1):
        if isinstance(each, str):
            documents += _documents(path.parent / each, path)
        else:
            documents.append((f"{path}, policy {number}", each))
    return read_policies(documents)


def policies_at(places: Iterable[Path]) -> list[Policy]:
    """The policies in these files and folders. Raises MalformedTable."""
    return read_policies(document for place in places for document in _documents(place, None))


def _documents(place: Path, cases: Path | None) -> Iterator[tuple[str, Any]]:
    if not place.is_dir():
        yield str(place), _decoded(place)
        return
    # A case file may lie among its policies.
    files = [
        file
        for file in sorted(place.iterdir())
        if file.suffix in SUFFIXES and not (cases is not None and file.samefile(cases))
    ]
    if not files:
        raise MalformedTable(str(place), f"no file *{' or *'.join(SUFFIXES)} in this folder")
    for file in files:
        yield str(file), _decoded(file)


def _decoded(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as refused:
        raise MalformedTable(str(path), str(refused.strerror)) from refused
    except UnicodeDecodeError:
        raise MalformedTable(str(path), "not UTF-8") from None
    try:
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as refused:
        raise MalformedTable(str(path), f"not {'JSON' if path.suffix == '.json' else 'TOML'}: {refused}") from None
