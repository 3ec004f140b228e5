"""Messages about invalid values use JSON's names of types, for every expected type and every given one."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from keystead.api.enums import Curve
from keystead.api.validation_text import in_json_words

Short = Annotated[str, Meta(min_length=1, max_length=3)]
Few = Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)]
Small = Annotated[int, Meta(ge=1, le=4)]

CASES: list[tuple[Any, str, str]] = [
    (str, "1", "expected text, got a number"),
    (str, "1.5", "expected text, got a number with a fraction or an exponent"),
    (str, "[]", "expected text, got a list"),
    (str, "{}", "expected text, got an object"),
    (str, "true", "expected text, got true or false"),
    (str, "null", "expected text, got null"),
    (int, '"1"', "expected a whole number, got text"),
    (int, "1.0e400", "number out of range"),
    (float, '"1"', "expected a number, got text"),
    (bool, "1", "expected true or false, got a number"),
    (tuple[str, ...], "{}", "expected a list, got an object"),
    (dict[str, str], "[]", "expected an object, got a list"),
    (str | None, "1", "expected text or null, got a number"),
    (Short, '""', "expected text of at least 1 character"),
    (Short, '"four"', "expected text of at most 3 characters"),
    (Few, "[]", "expected a list of at least 1 item"),
    (Few, '["a","b","c"]', "expected a list of at most 2 items"),
    (Small, "0", "expected a whole number of at least 1"),
    (Small, "5", "expected a whole number of at most 4"),
    (Curve, '"x"', "unknown value 'x'"),
    (Curve, "1", "expected text, got a number"),
]


@pytest.mark.parametrize(("kind", "text", "words"), CASES, ids=[f"{text} {words}" for _, text, words in CASES])
def test_words(kind: Any, text: str, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(text, type=kind)
    assert in_json_words(str(refused.value)) == words
