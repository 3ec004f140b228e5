"""The text of a contract interface, ABI or IDL: strict JSON, and the refusal of any other text.

Here: the parts that both formats share. Not here: what an ABI (`ethereum.interfaces`) or an IDL (`solana.idl`) is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from keystead.api.errors import InvalidRequest

FIELD = "parameters.smartContractInterface"


def invalid_interface(what: str, why: str) -> InvalidRequest:
    """The refusal of a text. `what`: the expected format. `why`: the reason."""
    return InvalidRequest(f"invalid request body: field `{FIELD}`: not {what}: {why}")


def read_json(decoder: msgspec.json.Decoder[Any], text: str, what: str) -> Any:
    """The decoded text. Raises InvalidRequest."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as refused:
        raise invalid_interface(what, str(refused)) from None
    except msgspec.DecodeError as refused:
        raise InvalidRequest(f"invalid request body: field `{FIELD}`: not valid JSON: {refused}") from None
    except RecursionError:
        raise invalid_interface(what, "nested too deeply") from None
