"""`python -m keystead.operations.coverage`: writes docs/coverage.md, or with --check says whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from keystead.api.public_schema import PUBLIC_SCHEMA
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"


def coverage_page() -> str:
    """Every operation of the public schema, by subject, and whether this version answers it."""
    names = [name for names in PUBLIC_SCHEMA.operations.values() for name in names]
    answered = sum(1 for name in names if CATALOGUE.at(f"/public/v1/{name}"))
    lines = [
        "# Coverage of the public schema",
        "",
        "Generated from the operation catalogue (`make generate`); a test says when it is stale.",
        f"Answered: {answered} of {len(names)} operations. Every other path of the schema answers HTTP 501, and",
        "the message says what to use instead.",
        "",
        f"The names are from {'; '.join(map(str, PUBLIC_SCHEMA.sources))}. `make generate` says when a newer",
        "published version knows more.",
    ]
    for subject, operations in _by_subject().items():
        lines += ["", f"## {subject}", "", "| operation | answered | activity types |", "|---|---|---|"]
        lines += [_row(name) for name in operations]
    return "\n".join(lines) + "\n"


def _by_subject() -> dict[str, list[str]]:
    """The operations of each subject. The schema has some subjects twice, with and without capital letters."""
    by_lower_case: dict[str, tuple[str, list[str]]] = {}
    for subject, operations in PUBLIC_SCHEMA.operations.items():
        by_lower_case.setdefault(subject.lower(), (subject, []))[1].extend(operations)
    return {subject: sorted(operations) for subject, operations in by_lower_case.values()}


def _row(name: str) -> str:
    operation = CATALOGUE.at(f"/public/v1/{name}")
    if operation is None:
        return f"| `{name}` | no | |"
    types = operation.activity_types if isinstance(operation, ActivityOperation) else ()
    shown = ", ".join(f"`{activity_type.removeprefix('ACTIVITY_TYPE_')}`" for activity_type in types)
    return f"| `{name}` | yes | {shown} |"


def main(arguments: list[str]) -> int:
    """Write the page. With --check, write nothing and return 1 if the page is not current."""
    page = coverage_page()
    if arguments == ["--check"]:
        return 0 if PAGE.read_text() == page else 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
