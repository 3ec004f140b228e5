"""Tables that fit the terminal, and colours where they are wanted.

A table that is too wide is made narrower in this order: columns in their short form, columns left out, texts cut.
Output that is not a terminal is for another program: it has every column, whole. Not here: what is listed
(`tables`).
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

Record = dict[str, Any]

_GAP: Final = 2
_TEXT_MIN: Final = 12
"""Cells of a column that may be cut keep so many characters."""

BOLD, RED, GREEN, YELLOW = "1", "31", "32", "33"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column. `short`: a shorter form of its cells. `cut`: its cells may end in `…`.

    `optional`: above 0, the column may be left out, the highest number first. `colour`: of a record's cell, "" for
    none.
    """

    name: str
    cell: Callable[[Record], str]
    short: Callable[[str], str] | None = None
    cut: bool = False
    optional: int = 0
    colour: Callable[[Record], str] | None = None


class _Filled(msgspec.Struct, frozen=True):
    column: Column
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(width_of, (self.column.name, *self.cells)))


def id_column(name: str, cell: Callable[[Record], str]) -> Column:
    """A column of ids: shortened to the end of the id, which no other id of the organization is likely to share."""
    return Column(name=name, cell=cell, short=lambda text: text.rpartition("-")[2])


def ends_of(address: str) -> str:
    """Beginning and end of an address: neither alone tells it from one that was made to look like it."""
    return address if len(address) <= 13 else f"{address[:6]}…{address[-4:]}"


def table(records: Sequence[Record], columns: Sequence[Column], width: int | None) -> Iterator[str]:
    """The lines of the table, its header first. `width`: of the terminal; None for no limit."""
    filled = [_Filled(each, tuple(printable(each.cell(record)) for record in records)) for each in columns]
    if width is not None:
        filled = _fitted(filled, width)
    widths = [each.width for each in filled]
    yield _line([_padded(each.column.name, size) for each, size in zip(filled, widths, strict=True)], bold=True)
    for row, record in enumerate(records):
        cells = []
        for each, size in zip(filled, widths, strict=True):
            text = _padded(each.cells[row], size)
            colour = each.column.colour(record) if each.column.colour else ""
            cells.append(coloured(text, colour) if colour else text)
        yield _line(cells, bold=False)


def _fitted(filled: list[_Filled], width: int) -> list[_Filled]:
    if _total(filled) > width:
        filled = [_shortened(each) for each in filled]
    while _total(filled) > width and (optional := [each for each in filled if each.column.optional]):
        filled.remove(max(optional, key=lambda each: each.column.optional))
    while _total(filled) > width and (
        cuttable := [each for each in filled if each.column.cut and each.width > _TEXT_MIN]
    ):
        widest = max(cuttable, key=lambda each: each.width)
        size = max(_TEXT_MIN, widest.width - (_total(filled) - width))
        filled[filled.index(widest)] = _Filled(widest.column, tuple(_cut(cell, size) for cell in widest.cells))
    return filled


def _shortened(filled: _Filled) -> _Filled:
    short = filled.column.short
    return filled if short is None else _Filled(filled.column, tuple(map(short, filled.cells)))


def _total(filled: Iterable[_Filled]) -> int:
    widths = [each.width for each in filled]
    return sum(widths) + _GAP * (len(widths) - 1)


def _cut(text: str, size: int) -> str:
    while width_of(text) > size:
        text = text[: min(len(text) - 2, size - 1)] + "…"
    return text


def _line(cells: Sequence[str], *, bold: bool) -> str:
    line = (" " * _GAP).join(cells).rstrip()
    return coloured(line, BOLD) if bold else line


def _padded(text: str, size: int) -> str:
    return text + " " * (size - width_of(text))


def width_of(text: str) -> int:
    """Columns of a terminal: letters of East Asia take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def terminal_width() -> int | None:
    """Of standard output; None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def coloured(text: str, code: str) -> str:
    """The text in this colour, where standard output is a terminal and NO_COLOR (no-color.org) is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
