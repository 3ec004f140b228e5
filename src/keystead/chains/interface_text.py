"""The text of a contract interface, ABI or IDL: JSON that has one reading, and the refusal of any other text.

Here: the parts that both formats share. Not here: what an ABI (`ethereum.interfaces`) or an IDL (`solana.idl`) is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from keystead.api.decoding import refuse_ambiguous
from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import INTERFACE_NAME_CHARACTERS_MAX

FIELD = "parameters.smartContractInterface"

InterfaceName = Annotated[str, Meta(max_length=INTERFACE_NAME_CHARACTERS_MAX)]


def invalid_interface(what: str, why: str) -> InvalidRequest:
    """The refusal of a text. `what`: the expected format. `why`: the reason."""
    return InvalidRequest(f"invalid request body: field `{FIELD}`: not {what}: {why}")


def read_json(decoder: msgspec.json.Decoder[Any], text: str, what: str) -> Any:
    """The decoded text. Raises InvalidRequest, also for a member that occurs twice in an object, which people could
    read otherwise than this server."""
    try:
        decoded = decoder.decode(text)
        refuse_ambiguous(text.encode())
    except msgspec.ValidationError as refused:
        raise invalid_interface(what, str(refused)) from None
    except (msgspec.DecodeError, UnicodeEncodeError) as refused:
        raise InvalidRequest(f"invalid request body: field `{FIELD}`: not valid JSON: {refused}") from None
    except InvalidRequest as refused:
        raise invalid_interface(what, refused.message.removeprefix("invalid request body: ")) from None
    except RecursionError:
        raise invalid_interface(what, "nested too deeply") from None
    return decoded


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that occurred before; None if all are different."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
