"""The largest request of each kind that the declared bounds of its fields let through, made from the catalogue.

For each list of a request: an example with that list filled up to its bound, or as far as a body may go. For lists
inside of lists: both filled. For its texts: an example with every text as long as it may be. For its numbers: the
largest. Here: building them. Not here: requests that are expensive for what they say (`worst_requests`).
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from keystead.api.catalogue import Operation
from keystead.api.identifiers import new_id
from keystead.operations import CATALOGUE, QueryOperation
from keystead.pipeline.operation import ActivityOperation
from tests.support.callers import Caller
from tests.support.operation_examples import QUERIES, SUBMISSIONS, RecordIds

BODY_BYTES = 1_000_000
"""The largest size of the parameters. A body of 1 MiB leaves room for the envelope."""

DISTINCT = 100
"""How many elements of a list differ from each other, if it is long enough."""

EACH = "*"
"""In a path: every element of a list."""

Path = tuple[str, ...]
Make = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Largest:
    """One kind of large request; `parameters` builds it, and makes what it names first."""

    operation: Operation
    activity_type: str
    what: str
    parameters: Callable[[RecordIds], dict[str, Any]]

    @property
    def is_current(self) -> bool:
        """Whether the request is of the newest version of its operation."""
        return self.activity_type in ("", *self.operation.activity_types[:1])

    @property
    def is_of_parent(self) -> bool:
        """A sub-organization makes none of its own and has no IP allow-lists, and people sign up under a parent."""
        name = self.operation.name
        return name == "create_sub_organization" or "auth_proxy" in name or "ip_allowlist" in name

    def body(self, caller: Caller, parameters: dict[str, Any]) -> bytes:
        if not self.activity_type:
            return caller.query_body(**parameters)
        return caller.submit_body(self.operation.name, parameters, type=self.activity_type)

    @property
    def name(self) -> str:
        return f"{self.activity_type or self.operation.name}: {self.what}"


def largest_requests() -> Iterator[Largest]:
    """Every kind, in the order of the catalogue."""
    for operation in CATALOGUE:
        if isinstance(operation, ActivityOperation):
            for version in operation.versions:
                example = SUBMISSIONS[version.activity_type]
                yield from _of(operation, version.activity_type, version.intent, example)
        elif isinstance(operation, QueryOperation):
            yield from _of(operation, "", operation.request_structs[0], QUERIES[operation.name])


def _of(
    operation: Operation, activity_type: str, kind: type, example: Callable[[RecordIds], dict[str, Any]]
) -> Iterator[Largest]:
    def largest(what: str, enlarge: Callable[[Make], dict[str, Any]]) -> Largest:
        def parameters(records: RecordIds) -> dict[str, Any]:
            # One record to name will do, however often the example is made.
            once = replace(records, fresh=functools.cache(records.fresh))
            # A copy, since examples share constants.
            return enlarge(lambda: copy.deepcopy(example(once)))

        return Largest(operation, activity_type, what, parameters)

    places = list(_places(msgspec.inspect.type_info(kind), ()))
    for path, place in places:
        if isinstance(place, msgspec.inspect.VarTupleType):
            yield largest(f"all of {'.'.join(path)}", functools.partial(_filled, path=path, places=dict(places)))
    yield largest("long texts and large numbers", functools.partial(_lengthened, places=places))


def _places(kind: msgspec.inspect.Type, path: Path) -> Iterator[tuple[Path, msgspec.inspect.Type]]:
    """Every text, number and list of a type, with its path."""
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            yield from _places(inner, path)
        case msgspec.inspect.UnionType(types=types):
            for one in types:
                yield from _places(one, path)
        case msgspec.inspect.StructType(fields=fields):
            for field in fields:
                yield from _places(field.type, (*path, field.encode_name))
        case msgspec.inspect.VarTupleType(item_type=item):
            yield path, kind
            yield from _places(item, (*path, EACH))
        case msgspec.inspect.StrType() | msgspec.inspect.IntType():
            yield path, kind
        case _:
            pass


def _filled(make: Make, *, path: Path, places: dict[Path, msgspec.inspect.Type]) -> dict[str, Any]:
    """The example with its list at `path` filled; first the lists around it, by a quarter of a body."""
    example = make()
    for end, part in enumerate(path):
        if part == EACH:
            _fill(example, make, path[:end], places, BODY_BYTES // 4)
    _fill(example, make, path, places, BODY_BYTES - len(json.dumps(example)))
    return example


def _fill(
    example: dict[str, Any], make: Make, path: Path, places: dict[Path, msgspec.inspect.Type], room: int
) -> None:
    place = places[path]
    assert isinstance(place, msgspec.inspect.VarTupleType)
    bound = place.max_length if place.max_length is not None else BODY_BYTES
    lists = [found for found in _at(example, path) if isinstance(found, list)]
    several = [make() for _ in range(DISTINCT)] if lists and not _is_text(place.item_type) else []
    elements = [one for other in several for found in _at(other, path) for one in found or ()]
    fresh = iter(itertools.chain(elements, map(copy.deepcopy, itertools.cycle(elements))))
    while room > 0 and (short := [found for found in lists if len(found) < bound]):
        for found in short:
            element = next(fresh, None) or new_id()
            found.append(element)
            room -= len(json.dumps(element)) + 2
            if room <= 0:
                break


def _lengthened(make: Make, *, places: list[tuple[Path, msgspec.inspect.Type]]) -> dict[str, Any]:
    """An example with long texts and large numbers; texts without a bound share what room there is."""
    example = make()
    unbounded = [
        path for path, kind in places if isinstance(kind, msgspec.inspect.StrType) and kind.max_length is None
    ]
    for path, kind in places:
        for holder, key in _holders(example, path):
            match kind:
                case msgspec.inspect.StrType(max_length=bound, pattern=pattern) if _takes_letters(pattern):
                    length = bound if bound is not None else BODY_BYTES // max(1, len(unbounded)) // 2
                    holder[key] = "a" * min(length, BODY_BYTES // max(1, len(places)))
                case msgspec.inspect.IntType(le=bound):
                    holder[key] = bound if bound is not None else 2**62
                case _:
                    pass
    return example


def _takes_letters(pattern: str | None) -> bool:
    return pattern is None or "-z" in pattern or "^\\x" in pattern


def _is_text(kind: msgspec.inspect.Type) -> bool:
    return isinstance(kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind, msgspec.inspect.StrType)


def _at(value: Any, path: Path) -> Iterator[Any]:
    """What is at a path; for a path through lists, of every element."""
    if not path:
        yield value
    elif path[0] == EACH:
        for one in value or ():
            yield from _at(one, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


def _holders(example: dict[str, Any], path: Path) -> Iterator[tuple[Any, Any]]:
    """Where a text or number at a path is held: the object with its member, or the list with its index."""
    *before, last = path
    for holder in _at(example, tuple(before)):
        if last == EACH and isinstance(holder, list):
            yield from ((holder, index) for index in range(len(holder)))
        elif isinstance(holder, dict) and last in holder:
            yield holder, last
