"""`python -m tools.limits`: writes docs/limits.md from the declarations of bounds, limits and settings.

Here: the values in the text of `limits_page.md`, and the tables of all bounds and limits. Not here: the bounds
(`bounds`, one module for each package), the limits of organizations (`organizations.kinds`), the settings.
"""

from __future__ import annotations

import re
import typing
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import msgspec

from keystead.organizations.limits import Limit
from keystead.organizations.record_kinds import RECORD_KINDS
from keystead.primitives.bound import Bound
from keystead.server.settings.settings import AllSettings

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
_TEXT = Path(__file__).parent / "limits_page.md"

PACKAGES = (
    "server", "stamps", "identities", "sessions", "operations", "pipeline", "policies", "organizations", "chains",
    "describe", "delivery", "signer", "api",
)  # fmt: skip

_PLACEHOLDER = re.compile(r"\{\{(\w+)\.(\w+)(?:\|(KiB|MiB))?\}\}")
_SIZES = {None: 1, "KiB": 1024, "MiB": 1024 * 1024}


class DeclaredBound(NamedTuple):
    name: str
    value: int | float
    unit: str
    reason: str


def bounds_of(package: str) -> list[DeclaredBound]:
    """The bounds that a package declares, in their order."""
    module = import_module(f"keystead.{package}.bounds")
    declared = []
    for name, final in typing.get_type_hints(module, include_extras=True).items():
        (kind,) = typing.get_args(final)
        bound = kind.__metadata__[0]
        assert isinstance(bound, Bound)
        declared.append(DeclaredBound(name, getattr(module, name), *bound))
    return declared


def organization_limits() -> tuple[Limit, ...]:
    return RECORD_KINDS.limits


def filled(text: str) -> str:
    """The text with values: `{{package.NAME_MAX}}`, `{{limit.name}}`, `{{setting.name}}`, with `|KiB` or `|MiB`
    if it is shown in that unit. Raises KeyError for a name that is not declared, ValueError if a value is not a
    whole number of its unit."""
    values: dict[tuple[str, str], object] = {
        (package, bound.name): bound.value for package in PACKAGES for bound in bounds_of(package)
    }
    values |= {("limit", limit.name): limit.default for limit in organization_limits()}
    values |= {("setting", field.name): field.default for field in msgspec.structs.fields(AllSettings)}

    def shown(match: re.Match[str]) -> str:
        value, unit = values[match[1], match[2]], match[3]
        if not isinstance(value, int | float):
            raise TypeError(f"{match[0]}: {value!r} is not a number")
        count, rest = divmod(value, _SIZES[unit])
        if rest:
            raise ValueError(f"{match[0]}: {value} is not a whole number of {unit}")
        return f"{count:,} {unit}" if unit else f"{value:,}"

    return _PLACEHOLDER.sub(shown, text)


def page() -> str:
    return filled(_TEXT.read_text()) + "\n" + "\n".join([*_limits_table(), *_bounds_tables()])


def _limits_table() -> list[str]:
    lines = [
        "## Limits of an organization, as declared",
        "",
        "Each is a setting. Beyond it: 429, nothing changed.",
        "",
    ]
    lines += ["| setting | default | meaning |", "|---|---|---|"]
    for limit in sorted(organization_limits(), key=lambda limit: limit.name):
        lines.append(f"| `KEYSTEAD_LIMIT_{limit.name.upper()}` | {limit.default:,} | {limit.description} |")
    return [*lines, ""]


def _bounds_tables() -> list[str]:
    lines = ["## Bounds of each package, as declared", ""]
    for package in PACKAGES:
        lines += [f"### {package}", "", "| bound | value | unit | reason |", "|---|---|---|---|"]
        lines += [f"| `{one.name}` | {_value(one)} | {one.unit} | {one.reason} |" for one in bounds_of(package)]
        lines.append("")
    return lines


def _value(bound: DeclaredBound) -> str:
    if bound.value < 10**18:
        return f"{bound.value:,}"
    bits = int(bound.value).bit_length()
    return f"2^{bits} - {2**bits - int(bound.value)}"


if __name__ == "__main__":
    PAGE.write_text(page())
