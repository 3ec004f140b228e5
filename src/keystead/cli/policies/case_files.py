"""Finds and decodes files of test cases and of policies: TOML, or JSON by the suffix.

Not here: what such a file may hold (`policies.testing`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import typer

from keystead.api.records import Policy
from keystead.cli.failure import Failure
from keystead.cli.texts import printable
from keystead.policies.testing.cases import CaseFile
from keystead.policies.testing.organization import read_policies
from keystead.policies.testing.schema import MalformedTable, MalformedTables, read

SUFFIXES = (".toml", ".json")
MALFORMED: Final = 2
"""Exit code for a file that cannot be read, as for wrong usage."""


@contextmanager
def malformed_files() -> Iterator[None]:
    """If the block raises MalformedTable, print each of its problems to standard error, and end the command."""
    try:
        yield
    except MalformedTable as refused:
        for problem in refused.problems:
            Failure.report(Failure(printable(problem)))
        raise typer.Exit(MALFORMED) from None


def case_file(path: Path) -> CaseFile:
    """The decoded file. Raises MalformedTable."""
    return read(_decode(path), CaseFile, str(path))


def policies_of(file: CaseFile, path: Path) -> list[Policy] | None:
    """The policies that a file of cases names or holds; None if it has no `policies`.

    Raises MalformedTable with the problems of every file.
    """
    if file.policies is None:
        return None
    entries = (file.policies,) if isinstance(file.policies, str) else file.policies
    documents: list[tuple[str, Any] | Path] = []
    malformed = MalformedTables()
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, str):
            with malformed.collect():
                documents += _files(path.parent / entry, path)
        else:
            documents.append((f"{path}, policy {number}", entry))
    return _policies(documents, malformed)


def policies_at(places: Iterable[Path]) -> list[Policy]:
    """The policies in these files and folders. Raises MalformedTable with the problems of every file."""
    files: list[Path] = []
    malformed = MalformedTables()
    for place in places:
        with malformed.collect():
            files += _files(place, None)
    return _policies(files, malformed)


def _policies(documents: Iterable[tuple[str, Any] | Path], malformed: MalformedTables) -> list[Policy]:
    """The policies in documents and in files that are not read yet. Raises MalformedTable."""
    read_documents: list[tuple[str, Any]] = []
    for document in documents:
        with malformed.collect():
            read_documents.append((str(document), _decode(document)) if isinstance(document, Path) else document)
    policies: list[Policy] = []
    with malformed.collect():
        policies = read_policies(read_documents)
    malformed.check()
    return policies


def _files(place: Path, cases: Path | None) -> list[Path]:
    """The file itself, or the files of a folder. Raises MalformedTable."""
    if not place.is_dir():
        return [place]
    # A case file may lie among its policies.
    files = [
        file
        for file in sorted(place.iterdir())
        if file.suffix in SUFFIXES and not (cases is not None and file.samefile(cases))
    ]
    if not files:
        raise MalformedTable(str(place), f"no file *{' or *'.join(SUFFIXES)} in this folder")
    return files


def _decode(path: Path) -> Any:
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
