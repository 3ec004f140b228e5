"""From bytes to typed requests: strict JSON, and refusals that name the field.

Here: UTF-8, JSON syntax, duplicate members, types, unknown and missing fields, all as `InvalidRequest`.
Not here: what a request asks for (its operation), and who sent it (the stamp, which is verified before).
"""

from __future__ import annotations

import functools
import json
import re
import types
import typing
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.choices import did_you_mean, expected_words, member_names
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import UUID_PATTERN
from keystead.api.validation_text import in_json_words

NO_CONTROLS = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z"
NOTHING = r"^\Z"
BASE64URL = r"^[A-Za-z0-9_-]*={0,2}\Z"
PUBLIC_KEY_CREDENTIAL = r"^public-key\Z"
NO_CONTROLS_BUT_LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*\Z"

Label = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_CONTROLS)]
"""A name or label: 1 to 255 characters, none of them a control character."""

Notes = Annotated[str, Meta(max_length=2000, pattern=NO_CONTROLS_BUT_LINES)]
"""Free text of at most 2,000 characters; line breaks and tabs are allowed."""

T = TypeVar("T")

_PATTERN_WORDS = {
    NOTHING: "this server has no such feature; leave the field out",
    UUID_PATTERN: "expected a UUID in lower case with hyphens",
    NO_CONTROLS: "expected text without control characters",
    NO_CONTROLS_BUT_LINES: "expected text without control characters",
    BASE64URL: "expected base64url text",
    PUBLIC_KEY_CREDENTIAL: "expected public-key",
}
_ENUM_WORDS = {
    "parameters.encoding": "invalid payload encoding",
    "parameters.hashFunction": "invalid hash function",
}
"""Fields for which the public API has a special message about unknown values."""

_AT = re.compile(r" - at `(?P<path>[^`]*)`\Z")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]+)`")
_WORD = re.compile(r"Invalid enum value '(?P<word>.*)'\Z", re.DOTALL)
_PATTERN = re.compile(r"Expected `str` matching regex '(?P<pattern>.*)'\Z", re.DOTALL)


def is_not_supported(hint: Any) -> bool:
    """Whether a field of this type accepts nothing: published clients know it, and this server has no such
    feature."""
    members = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    return any(
        isinstance(note, Meta) and note.pattern == NOTHING
        for member in members
        for note in getattr(member, "__metadata__", ())
    )


@functools.cache
def _not_supported(struct: type[msgspec.Struct]) -> dict[str, None]:
    hints = typing.get_type_hints(struct, include_extras=True)
    return {name: None for name, hint in hints.items() if is_not_supported(hint)}


StructT = TypeVar("StructT", bound=msgspec.Struct)


def without_unsupported(struct: StructT) -> StructT:
    """The same struct without its fields that accept nothing: a request may have them, as "", an answer never."""
    absent = _not_supported(type(struct))
    return replace(struct, **absent) if absent else struct


class Decoder(msgspec.Struct, frozen=True):
    """Decodes one type, strictly. `within` is the path of the value in the request, e.g. "parameters"."""

    typed: msgspec.json.Decoder[Any]
    within: str = ""

    def decode(self, body: bytes | msgspec.Raw) -> Any:
        """The typed value. Raises InvalidRequest, naming the field."""
        try:
            return self.typed.decode(body)
        except msgspec.ValidationError as refused:
            raise _refusal(str(refused), self.within, self.typed.type) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as refused:
            raise InvalidRequest(f"bad request body: not valid JSON: {refused}") from None
        except RecursionError:
            raise InvalidRequest("bad request body: nested too deeply") from None

    def decode_request(self, body: bytes) -> Any:
        """The typed value of a body that every JSON parser reads in the same way. Raises InvalidRequest, naming
        the field.

        Types are checked first, because that refuses most invalid bodies at their beginning.
        """
        value = self.decode(body)
        if decode_canonical(body) is None:
            refuse_repeated_members(body)
        return value


def decoder(kind: type[T], within: str = "") -> Decoder:
    """A strict decoder of this type. `within`: the path of the value in the request, "" for the whole body."""
    return Decoder(typed=msgspec.json.Decoder(kind), within=within)


def refuse_ambiguous(body: bytes) -> None:
    """Refuse a body that two parsers could read differently: invalid UTF-8, or a member that occurs twice.

    The typed decoder keeps the last of two equal members; another reader of the same signed bytes may keep the
    first.
    """
    if decode_canonical(body) is None:
        refuse_repeated_members(body)


def refuse_repeated_members(body: bytes) -> None:
    """As `refuse_ambiguous`, for a body that `decode_canonical` did not decode."""
    try:
        _MEMBERS.decode(body.decode())
    except UnicodeDecodeError as refused:
        raise InvalidRequest(f"bad request body: not valid UTF-8 at byte {refused.start}") from None
    except json.JSONDecodeError as refused:
        raise InvalidRequest(f"bad request body: not valid JSON: {refused}") from None
    except RecursionError:
        raise InvalidRequest("bad request body: nested too deeply") from None


_DECODE = msgspec.json.Decoder().decode
_ENCODE = msgspec.json.Encoder().encode


def decode_canonical(body: bytes) -> Any:
    """The JSON value of a body in canonical form: encoding the value gives the same bytes.

    Such a body is not ambiguous, because encoding would lose a member that occurs twice. None for any other body,
    for example one with spaces. `msgspec.convert` turns the value into what a typed decoder would decode, without
    reading the texts again.
    """
    try:
        value = _DECODE(body)
        return value if _ENCODE(value) == body else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _no_number(_: str) -> None:
    """The typed decoder reads numbers; converting a very long one here would only cost time."""


def _unique_members(members: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in members}) == len(members):
        return
    seen: set[str] = set()
    for name, _ in members:
        if name in seen:
            raise InvalidRequest(f"invalid request body: field `{name[:100]}` appears twice")
        seen.add(name)


_MEMBERS = json.JSONDecoder(object_pairs_hook=_unique_members, parse_int=_no_number, parse_float=_no_number)


def explain_invalid(refused: msgspec.ValidationError, kind: Any) -> str:
    """What is wrong with a value that is not of the type `kind`, and with which field of it."""
    path, what = _explain(str(refused), "", kind)
    return f"field `{path}`: {what}" if path else what


def _explain(message: str, within: str, kind: Any) -> tuple[str, str]:
    """The path of the field and what is wrong with it, in the words of JSON; "" if the words name the field."""
    at = _AT.search(message)
    where = (at["path"] if at else "$").removeprefix("$").removeprefix(".")
    path = ".".join(part for part in (within, where) if part)
    what = message[: at.start()] if at else message
    if missing := _MISSING.search(what):
        return "", f"missing field `{_join(path, missing['field'])}`"
    if unknown := _UNKNOWN.search(what):
        suggestion = did_you_mean(unknown["field"], member_names(kind, where))
        return "", f"unknown field `{_join(path, unknown['field'])}`{suggestion}"
    if (pattern := _PATTERN.match(what)) and (words := _PATTERN_WORDS.get(_unescaped(pattern["pattern"]))):
        what = words
    if (word := _WORD.match(what)) and (expected := expected_words(kind, where, word["word"])):
        what = f"{what}: {expected}"
    return path, in_json_words(what)


def _refusal(message: str, within: str, kind: Any) -> InvalidRequest:
    path, what = _explain(message, within, kind)
    if path == "organizationId":
        return InvalidRequest(
            f"malformed organization ID provided: `organizationId`: {what}",
            machine_code="INVALID_ORGANIZATION_ID",
        )
    place = f"field `{path}`: " if path else ""
    if path == "parameters.type" and "expected TRANSACTION_TYPE_" in what:
        return InvalidRequest(
            f"failed to parse transaction: {place}{what}",
            machine_code="UNSUPPORTED_TRANSACTION_TYPE",
        )
    start = _ENUM_WORDS.get(path, "") if what.startswith("unknown value") else ""
    return InvalidRequest(f"{start or 'invalid request body'}: {place}{what}")


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _unescaped(quoted: str) -> str:
    """The pattern itself: msgspec prints its repr, which doubles each backslash."""
    return quoted.replace("\\\\", "\\")
