"""Tables that fit the terminal, and colours for terminals that show them.

A table that is too wide is made narrower in this order: columns in their short form, columns left out, texts cut.
If the output is not a terminal, another program reads it: then every column is there, and no text is cut. Not here:
what is listed (`tables`).
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from keystead.cli.texts import printable

JsonRecord = dict[str, Any]
"""A record as the server sent it, with the field names of the API."""

_GAP: Final = 2
_TEXT_MIN: Final = 12
"""The least width of a column whose cells may be cut, in characters."""

BOLD, RED, GREEN, YELLOW = "1", "31", "32", "33"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column. `short`: a shorter form of its cells. `cut`: its cells may end in `…`.

    `optional`: above 0, the column may be left out, the highest number first. `colour`: gives the colour of a
    record's cell, "" for none.
    """

    name: str
    cell: Callable[[JsonRecord], str]
    short: Callable[[str], str] | None = None
    cut: bool = False
    optional: int = 0
    colour: Callable[[JsonRecord], str] | None = None


class _FilledColumn(msgspec.Struct, frozen=True):
    definition: Column
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(width_of, (self.definition.name, *self.cells)))


def id_column(name: str, cell: Callable[[JsonRecord], str]) -> Column:
    """A column of ids: shortened to the end of the id, which no other id of the organization is likely to share."""
    return Column(name=name, cell=cell, short=lambda text: text.rpartition("-")[2])


def ends_of(address: str) -> str:
    """The beginning and the end of an address. Both are shown, because addresses can be made that share one of
    them."""
    return address if len(address) <= 13 else f"{address[:6]}…{address[-4:]}"


def table(records: Sequence[JsonRecord], columns: Sequence[Column], width: int | None) -> Iterator[str]:
    """The lines of the table, its header first. `width`: of the terminal; None for no limit."""
    filled = [
        _FilledColumn(definition, tuple(printable(definition.cell(record)) for record in records))
        for definition in columns
    ]
    if width is not None:
        filled = _fit(filled, width)
    widths = [column.width for column in filled]
    yield _line(
        [_pad(column.definition.name, size) for column, size in zip(filled, widths, strict=True)],
        bold=True,
    )
    for row, record in enumerate(records):
        cells = []
        for column, size in zip(filled, widths, strict=True):
            text = _pad(column.cells[row], size)
            colour = column.definition.colour(record) if column.definition.colour else ""
            cells.append(coloured(text, colour) if colour else text)
        yield _line(cells, bold=False)


def _fit(filled: list[_FilledColumn], width: int) -> list[_FilledColumn]:
    """The columns made narrower, if need be, so that they fit the width. See the module's docstring for the
    order."""
    if _total(filled) > width:
        filled = [_shorten(column) for column in filled]
    while _total(filled) > width and (optional := [column for column in filled if column.definition.optional]):
        filled.remove(max(optional, key=lambda column: column.definition.optional))
    while _total(filled) > width and (
        cuttable := [column for column in filled if column.definition.cut and column.width > _TEXT_MIN]
    ):
        widest = max(cuttable, key=lambda column: column.width)
        size = max(_TEXT_MIN, widest.width - (_total(filled) - width))
        filled[filled.index(widest)] = _FilledColumn(
            widest.definition, tuple(_cut(cell, size) for cell in widest.cells)
        )
    return filled


def _shorten(column: _FilledColumn) -> _FilledColumn:
    short = column.definition.short
    return column if short is None else _FilledColumn(column.definition, tuple(map(short, column.cells)))


def _total(filled: Iterable[_FilledColumn]) -> int:
    widths = [column.width for column in filled]
    return sum(widths) + _GAP * (len(widths) - 1)


def _cut(text: str, size: int) -> str:
    while width_of(text) > size:
        text = text[: min(len(text) - 2, size - 1)] + "…"
    return text


def _line(cells: Sequence[str], *, bold: bool) -> str:
    line = (" " * _GAP).join(cells).rstrip()
    return coloured(line, BOLD) if bold else line


def _pad(text: str, size: int) -> str:
    return text + " " * (size - width_of(text))


def width_of(text: str) -> int:
    """The width of a text on a terminal: East Asian letters take two places, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def terminal_width() -> int | None:
    """The width of standard output; None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def coloured(text: str, code: str) -> str:
    """The text in this colour if standard output is a terminal and NO_COLOR (no-color.org) is not set; else as it
    is."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
