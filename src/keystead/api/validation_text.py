"""Messages of the decoder with JSON's names of types. The decoder itself uses Python's names.

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
    text = _BOUND.sub(lambda match: f"{match['type']} of {_BOUNDS[match['bound']]} ", text)
    text = _GOT_TYPE.sub(lambda match: f", got {_GOT[match['type']]}", text)
    text = _TYPES.sub(lambda match: _words(match["types"]), text)
    return text[:1].lower() + text[1:]


def _length(match: re.Match[str]) -> str:
    count, unit = match["count"], _UNITS[match["type"]]
    several = "" if count == "1" else "s"
    return f"{_words(match['type'] + (match['null'] or ''))} of {_BOUNDS[match['bound']]} {count} {unit}{several}"


def _words(types: str) -> str:
    return " or ".join(_EXPECTED[kind] for kind in types.split(" | "))
