"""Plots of results as SVG files: `python -m bench.figures docs/figures` draws them from benchmarks.json there.

Requests per second and latency of each operation, and how the first grows with servers, with the organizations in
the database, and with the activities on record, as far as the results tell. Not here: SVG (`svg`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.results import Result
from bench.svg import WIDTH, Picture

SOURCE = "benchmarks.json"
KINDS = {"sqlite": "a", "postgres": "b"}
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}

_LEFT, _RIGHT = 270, 110
_LONGEST_NAME = 40
_SPAN = WIDTH - _LEFT - _RIGHT
_ROW, _GAP = 17, 14
_PANEL_HEIGHT = 150


class Results(msgspec.Struct, frozen=True):
    """What `bench.report.write_json` wrote."""

    machine: dict[str, str]
    results: list[Result]


class Line(msgspec.Struct, frozen=True):
    """One line of a plot: (how many, requests per second), in order."""

    name: str
    points: tuple[tuple[int, float], ...]


def drawn(written: Results) -> dict[str, str]:
    """File name -> SVG of every plot that the results tell something for."""
    alone = [each for each in written.results if _is_alone(each)]
    where = f"{written.machine['processor']}, {written.machine['date']}"
    pictures = (
        {}
        if not alone
        else {
            "throughput.svg": _rows(
                ("Requests per second, one worker", where),
                alone,
                lambda each: each.figures.requests_per_s,
                _bar,
            ),
            "latency.svg": _rows(
                ("Milliseconds to an answer: median (dot) and 99th percentile", f"16 callers. {where}"),
                alone,
                lambda each: each.figures.p99_ms,
                _range,
            ),
        }
    )
    if panels := {what: lines for what, lines in _growth(written.results).items() if lines}:
        pictures["growth.svg"] = _panels(("Requests per second as it grows", where), panels)
    return pictures


def _is_alone(result: Result) -> bool:
    """One worker and one organization without a history: `_growth` has the others."""
    sized = re.search("organization|activities|server", result.asked)
    return result.store in KINDS and result.workers == result.organizations == 1 and not sized


Draw = Callable[[Picture, Result, float, float], None]


def _rows(heading: tuple[str, str], results: Sequence[Result], value: Callable[[Result], float], draw: Draw) -> str:
    """A group for each operation, with a row for each store."""
    picture = Picture(heading[0])
    picture.heading(*heading)
    for number, (store, kind) in enumerate(KINDS.items()):
        picture.bar(_LEFT + number * 80, 52, 11, 11, kind)
        picture.text(_LEFT + number * 80 + 17, 62, NAMES[store], "small dim")
    most = max(value(each) for each in results)
    y = 80.0
    for name in dict.fromkeys(_operation(each) for each in results):
        group = [each for each in results if _operation(each) == name]
        picture.text(_LEFT - 12, y + _ROW * len(group) / 2 + 4, name, "end")
        for each in group:
            draw(picture, each, y, _SPAN / most)
            y += _ROW
        y += _GAP
    return picture.svg(y)


def _bar(picture: Picture, result: Result, y: float, scale: float) -> None:
    length = result.figures.requests_per_s * scale
    picture.bar(_LEFT, y, length, _ROW - 4, KINDS[result.store])
    picture.text(_LEFT + length + 6, y + 11, f"{result.figures.requests_per_s:,.0f}", "small")


def _range(picture: Picture, result: Result, y: float, scale: float) -> None:
    median, most = (_LEFT + ms * scale for ms in (result.figures.p50_ms, result.figures.p99_ms))
    middle, kind = y + _ROW / 2 - 2, KINDS[result.store]
    picture.line([(median, middle), (most, middle)], f"line {kind}")
    picture.line([(most, middle - 4), (most, middle + 4)], f"line {kind}")
    picture.dot(median, middle, kind)
    picture.text(most + 8, middle + 4, f"{result.figures.p50_ms:.1f} to {result.figures.p99_ms:.1f}", "small")


def _operation(result: Result) -> str:
    """With what the organization holds, where that fits beside the bars."""
    with_size = f"{result.case}, {result.asked}" if result.asked else result.case
    return with_size if len(with_size) <= _LONGEST_NAME else result.case


def _growth(results: Iterable[Result]) -> dict[str, list[Line]]:
    """By what grows: a line for each operation and store of which several sizes were measured."""
    sizes: dict[str, dict[str, dict[int, float]]] = {"servers": {}, "organizations": {}, "activities on record": {}}
    for each in results:
        for what, size, line in _sizes_of(each):
            sizes[what].setdefault(line, {})[size] = each.figures.requests_per_s
    return {
        what: [Line(name, tuple(sorted(points.items()))) for name, points in lines.items() if len(points) > 1]
        for what, lines in sizes.items()
    }


def _sizes_of(result: Result) -> Iterable[tuple[str, int, str]]:
    """What this result tells of growth: by what, how large, and which line it belongs to."""
    if found := re.fullmatch(r"((?:to|under) .+), (\d+) servers?", result.asked):
        yield "servers", int(found[2]), f"{result.case} {found[1]}"
        return
    if result.store in NAMES and result.workers == 1:
        line = f"{result.case}, {NAMES[result.store]}"
        if found := re.fullmatch(r"([\d,]+) activities", result.asked):
            yield "activities on record", int(found[1].replace(",", "")), line
        elif not result.asked.startswith("of "):
            yield "organizations", result.organizations, line


def _panels(heading: tuple[str, str], panels: Mapping[str, Sequence[Line]]) -> str:
    picture = Picture(heading[0])
    picture.heading(*heading)
    y = 60.0
    for what, lines in panels.items():
        picture.text(0, y + 8, f"by {what}", "head")
        _panel(picture, y + 24, lines)
        y += _PANEL_HEIGHT + 70
    return picture.svg(y)


def _panel(picture: Picture, top: float, lines: Sequence[Line]) -> None:
    """The sizes are at equal distances, since they grow by factors."""
    sizes = sorted({size for line in lines for size, _ in line.points})
    left, width = 60.0, 330.0
    most = _round_up(max(rate for line in lines for _, rate in line.points))
    across = {size: left + 20 + number * (width - 40) / max(len(sizes) - 1, 1) for number, size in enumerate(sizes)}
    for part in (0, 0.5, 1):
        y = top + _PANEL_HEIGHT * (1 - part)
        picture.line([(left, y), (left + width, y)], "grid")
        picture.text(left - 8, y + 4, f"{most * part:,.0f}", "small dim end")
    for size, x in across.items():
        picture.text(x, top + _PANEL_HEIGHT + 18, f"{size:,}", "small dim middle")
    label = top + 4.0
    for number, line in enumerate(sorted(lines, key=lambda line: -line.points[-1][1])):
        kind = "ab"[number % 2]
        points = [(across[size], top + _PANEL_HEIGHT * (1 - rate / most)) for size, rate in line.points]
        picture.line(points, f"line {kind}")
        for x, y in points:
            picture.dot(x, y, kind)
        label = max(label, points[-1][1] + 4)
        picture.text(left + width + 10, label, line.name, "small")
        label += 16


def _round_up(value: float) -> float:
    """To the next 1, 2, 2.5, 4, 5 or 8 times a power of ten, so that half of it is a short number, too."""
    unit = math.pow(10, math.floor(math.log10(value)))
    return unit * next(step for step in (1, 2, 2.5, 4, 5, 8, 10) if step * unit >= value)


def main(folder: Path) -> None:
    written = msgspec.json.decode((folder / SOURCE).read_bytes(), type=Results)
    for name, svg in drawn(written).items():
        (folder / name).write_text(svg)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
