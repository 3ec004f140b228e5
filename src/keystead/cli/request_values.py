"""The values of an activity that its policies compared, from the recorded request.

Here: values in the request itself. Not here: fields of records, such as a wallet's label, which a request does not
hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.api.errors import ServiceError
from keystead.api.records import Policy
from keystead.chains.payloads import read_payload
from keystead.cli.columns import JsonRecord
from keystead.cli.names import names_in
from keystead.cli.texts import printable
from keystead.client.client import Client
from keystead.describe.activity import intent_of, transaction_of
from keystead.policies.compared_values import compared_values
from keystead.policies.request import RequestedActivity, condition_values, visible_params
from keystead.primitives.unreadable import Unreadable

_OF_THE_KIND = frozenset({"activity.kind", "activity.type", "activity.resource", "activity.action"})


def values_in_activity(
    client: Client, activity: JsonRecord, policies: Iterable[Policy]
) -> dict[str, tuple[Any, ...]]:
    """The values in this activity of each field that a condition of these policies compares, by the field's path.

    The kind of the activity, its type, resource and action are left out. Raises KeysteadError.
    """
    intent = dict(_snake_case(intent_of(activity)))
    requested = RequestedActivity(type=activity["type"], params=visible_params(activity["type"], intent))
    keywords = condition_values(requested, _keywords(client, activity))
    values: dict[str, tuple[Any, ...]] = {}
    for policy in policies:
        compared = compared_values(policy.condition, keywords)
        values |= {path: found for path, found in compared.items() if found and path not in _OF_THE_KIND}
    return values


def value_lines(values: dict[str, tuple[Any, ...]]) -> Iterator[str]:
    """A line for each path, with its values."""
    width = max(map(len, values), default=0)
    for path, compared in values.items():
        yield printable(f"{path.ljust(width)}  {', '.join(map(_text, compared))}")


def value_as_json(value: Any) -> Any:
    """The value; of one that cannot be known, why."""
    return {"unknown": value.reason} if isinstance(value, Unreadable) else value


def _text(value: Any) -> str:
    if isinstance(value, Unreadable):
        return f"unknown: {value.reason}"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"


def _snake_case(intent: Any) -> Iterator[tuple[str, Any]]:
    for name, value in intent.items():
        yield "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name), value


def _keywords(client: Client, activity: JsonRecord) -> dict[str, Any]:
    """What policies see of a transaction, typed data or an authorization; empty for other activities."""
    intent = intent_of(activity)
    try:
        view = transaction_of(activity)
        if view is not None:
            return dict(view.describe(names_in(client, [activity]).interfaces).keywords)
        if intent.get("encoding") in (PayloadEncoding.EIP712, PayloadEncoding.EIP7702_AUTHORIZATION):
            payload = intent["payload"] if "payload" in intent else intent["payloads"][0]
            encoding = PayloadEncoding(intent["encoding"])
            return dict(read_payload(payload, encoding, HashFunction.NO_OP, "payload").keywords)
    except ServiceError:
        pass  # it was refused, and policies saw none of it
    return {}
