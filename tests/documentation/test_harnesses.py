"""The examples of tests/support/README.md: one test for each harness, run as it stands on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.compatibility.live import Live
from tests.documentation.blocks import blocks_of
from tests.support.callers import Caller

PAGE = Path(__file__).parents[1] / "support" / "README.md"


def example(name: str) -> Callable[..., None]:
    """The function of this name in a block of the page."""
    (block,) = [block for block in blocks_of(PAGE) if f"def {name}(" in block.text]
    names: dict[str, Any] = {}
    exec(compile("\n" * block.line + block.text, PAGE, "exec"), names)
    function: Callable[..., None] = names[name]
    return function


def test_the_pipeline_in_memory() -> None:
    example("test_two_people_make_a_wallet")()


def test_http_on_both_databases(caller: Caller) -> None:
    example("test_names_of_tags_are_unique")(caller)


def test_a_live_server(live: Live) -> None:
    example("test_a_client_knows_its_user")(live)


def test_every_example_of_the_page_is_run() -> None:
    written = re.findall(r"^def (\w+)\(", PAGE.read_text(), re.MULTILINE)
    run = re.findall(r'example\("(\w+)"\)', Path(__file__).read_text())
    assert written == run
    assert len(written) == 3
