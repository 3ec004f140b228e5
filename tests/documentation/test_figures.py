"""The plots of the benchmarks show what their JSON says, in colours for light and dark."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from bench.figures import SOURCE, Results, drawn

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
WRITTEN = msgspec.json.decode((FOLDER / SOURCE).read_bytes(), type=Results)
PICTURES = drawn(WRITTEN)


def test_the_plots_are_current() -> None:
    assert {path.name: path.read_text() for path in FOLDER.glob("*.svg")} == PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_plot_is_readable_in_light_and_dark_and_loads_nothing(name: str) -> None:
    svg = PICTURES[name]
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme:dark" in svg
    assert svg.count("http") == 1  # the name of the format


def test_every_operation_of_one_worker_is_in_the_plot() -> None:
    for result in WRITTEN.results:
        if result.store != "memory" and result.workers == 1 and "activities" not in result.asked:
            assert result.case in PICTURES["throughput.svg"]


def test_growth_has_a_line_for_every_size_that_was_measured() -> None:
    result = next(each for each in WRITTEN.results if each.case == "list_wallets")
    grown = [
        msgspec.structs.replace(result, organizations=100_001),
        msgspec.structs.replace(result, case="list_activities", asked="1,000 activities"),
        msgspec.structs.replace(result, case="list_activities", asked="100,000 activities"),
    ]
    picture = drawn(Results(WRITTEN.machine, [*WRITTEN.results, *grown]))["growth.svg"]
    for words in (
        "by servers",
        "by organizations",
        "100,001",
        "by activities on record",
        "list_activities, SQLite",
    ):
        assert words in picture
