"""The catalogue: every operation that this service serves, found by its path or its activity type.

Here: what routes, OpenAPI, client, CLI and coverage need to know of an operation.
Not here: the operations themselves (`operations`), and how an activity is executed (`pipeline`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

import msgspec

OperationKind = Literal["query", "submit"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint: POST /public/v1/{kind}/{name}.

    - `module`: the Python module that declares it; its last part is the subject.
    - `summary`: one line of documentation.
    - `request_structs`: what callers send. For a query, the request; for a submission, the intent of each of
      `activity_types` in their order, the current one first.
    - `before_session`: clients send it before they have a session. A user of a sub-organization may therefore name
      the parent organization, and attested stamps are accepted.
    - `for_recovery`: a recovery key may stamp it.
    - `in_any_organization`: a request that a passkey stamps may name ANY_ORGANIZATION.
    - `is_own`: the public API has no such path.
    - `results`: the results of its activities, by the member of `result` that holds each.
    """

    kind: ClassVar[OperationKind]

    name: str
    module: str
    summary: str
    request_structs: tuple[type[msgspec.Struct], ...]
    answer_struct: type[msgspec.Struct]
    activity_types: tuple[str, ...] = ()
    before_session: bool = False
    for_recovery: bool = False
    in_any_organization: bool = False
    is_own: bool = False
    results: Mapping[str, type[msgspec.Struct]] = {}

    @property
    def path(self) -> str:
        return f"/public/v1/{self.kind}/{self.name}"


class Catalogue:
    """Operations by path and by activity type. Iteration gives those that have a path."""

    def __init__(self) -> None:
        self._by_path: dict[str, Operation] = {}
        self._by_activity_type: dict[str, Operation] = {}

    def add(self, operation: Operation, *, has_path: bool = True) -> None:
        """`has_path`: False for activities that no request submits: then the operation is found by its activity
        types alone. Raises ValueError if another operation has the same path or one of the same activity types."""
        if operation.path in self._by_path:
            raise ValueError(f"declared twice: {operation.path}")
        for activity_type in operation.activity_types:
            if activity_type in self._by_activity_type:
                raise ValueError(f"declared twice: {activity_type}")
            self._by_activity_type[activity_type] = operation
        if has_path:
            self._by_path[operation.path] = operation

    def at(self, path: str) -> Operation | None:
        return self._by_path.get(path)

    def of_type(self, activity_type: str) -> Operation | None:
        return self._by_activity_type.get(activity_type)

    def __iter__(self) -> Iterator[Operation]:
        return iter(sorted(self._by_path.values(), key=lambda operation: operation.path))


def wire_key(struct: type[msgspec.Struct]) -> str:
    """The member that holds this intent or result: CreateUsersIntentV4 -> createUsersIntentV4."""
    name = struct.__name__
    return name[0].lower() + name[1:]


@functools.lru_cache(maxsize=1024)
def activity_kind(activity_type: str) -> str:
    """The type without prefix and version: ACTIVITY_TYPE_CREATE_USERS_V4 -> CREATE_USERS."""
    return re.sub(r"_V\d+\Z", "", activity_type.removeprefix("ACTIVITY_TYPE_"))
