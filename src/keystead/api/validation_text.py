"""Messages of the decoder in the words of JSON: the decoder itself uses the names of Python's types.

Not here: the name of the field, and the refusal (`decoding`).
"""

from __future__ import annotations

import re

_EXPECTED = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_GOT = _EXPECTED | {"int": "a number", "float": "a number with a fraction or an exponent"}

_TYPE = "|".join(_EXPECTED)
_TYPES = re.compile(rf"`(?P<types>(?:{_TYPE})(?: \| (?:{_TYPE}))*)`")
_GOT_TYPE = re.compile(rf", got `(?P<type>{_TYPE})`\Z")
_LENGTH = re.compile(r"`(?P<type>str|array)(?P<null> \| null)?` of length (?P<bound>>=|<=) (?P<count>\d+)")
_BOUND = re.compile(r"(?P<type>`(?:int|float)(?: \| null)?`) (?P<bound>>=|<=) ")
_UNITS = {"str": "character", "array": "item"}
_BOUNDS = {">=": "at least", "<=": "at most"}


def in_json_words(refused: str) -> str:
    """A message of msgspec without its path: "Expected `str`, got `int`" as "expected text, got a number"."""
    text = refused.replace("Invalid enum value", "unknown value", 1)
    text = _LENGTH.sub(_length, text)
    text = _BOUND.sub(lambda found: f"{found['type']} of {_BOUNDS[found['bound']]} ", text)
    text = _GOT_TYPE.sub(lambda found: f", got {_GOT[found['type']]}", text)
    text = _TYPES.sub(lambda found: _words(found["types"]), text)
    return text[:1].lower() + text[1:]


def _length(found: re.Match[str]) -> str:
    count, unit = found["count"], _UNITS[found["type"]]
    several = "" if count == "1" else "s"
    return f"{_words(found['type'] + (found['null'] or ''))} of {_BOUNDS[found['bound']]} {count} {unit}{several}"


def _words(types: str) -> str:
    return " or ".join(_EXPECTED[each] for each in types.split(" | "))
