"""How an operation is declared: a decorated function; its type hints are the request and the answer.

Here: `query`, `activity`, `vote`, `operator_activity`, and the catalogue that they fill; reading the
type hints and the docstrings. Not here: any operation.
A function's name is its path; the first line of its docstring is its documentation.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import typing
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import Catalogue, Operation, OperationKind, activity_kind, wire_key
from keystead.api.decoding import Decoder, decoder
from keystead.api.enums import VoteSelection
from keystead.api.parameters import RequestStruct
from keystead.api.public_schema import PATHS
from keystead.api.records import ActivityResponse, Wire
from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.context import ContextSource, ForeignSource
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import (
    Execution,
    ExecutionWith,
    ExecutionWithOAuth2,
    Output,
    OutputWithoutChanges,
)
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.operation import (
    ActivityOperation,
    Adds,
    ByParent,
    Execute,
    IntentVersion,
    LoadContext,
    OidcTokens,
    OwnerOf,
    Precondition,
    Resources,
    Signs,
)
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Store
from keystead.policies.resources import VOTES, attributes_of


def summary(function: Callable[..., Any]) -> str:
    """The first line of the docstring. Raises ValueError if there is no docstring."""
    docstring = function.__doc__ if sys.flags.optimize < 2 else _docstring_in_source(function)
    if not docstring:
        raise ValueError(f"{function.__name__} has no docstring: it is the operation's documentation")
    return docstring.strip().splitlines()[0]


def _docstring_in_source(function: Callable[..., Any]) -> str:
    """The docstring in the function's source; the function's name if the source is not available."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except OSError:
        return function.__name__
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    return ast.get_docstring(definition) or ""


class DeclaredTypes(msgspec.Struct, frozen=True, kw_only=True):
    """What the types of an activity's functions declare. ActivityOperation describes the fields."""

    intent: type[RequestStruct]
    result: type[Wire]
    changes_organization: bool
    asks_provider: bool
    context_is_own: bool


def declared_types(
    execute: Execute, load_context: LoadContext | None, resources: Resources | None
) -> DeclaredTypes:
    """Read the types. Raises TypeError unless the three functions take the same intent and the loaded context."""
    execution, intent, output = signature(execute)
    source: Any = None
    context: Any = type(None)
    takes: list[Any] = [Execution]
    if load_context is not None:
        source, parameters, context = signature(load_context)
        takes = [ExecutionWith[context], ExecutionWithOAuth2[context]]
        if source not in (ContextSource, ForeignSource) or parameters != intent:
            raise TypeError(
                f"{load_context.__name__} takes (ContextSource or ForeignSource, {intent.__name__}), "
                f"not ({source}, {parameters})"
            )
    if execution not in takes:
        raise TypeError(f"an execution of {intent.__name__} takes {' or '.join(map(str, takes))}, not {execution}")
    if resources is not None:
        hints = [hint for name, hint in typing.get_type_hints(resources).items() if name != "return"]
        if hints != [Organization, intent, context]:
            raise TypeError(f"{resources.__name__} takes (Organization, {intent}, {context}), not {hints}")
    output_type, result = _output(output)
    return DeclaredTypes(
        intent=intent,
        result=result,
        changes_organization=output_type is not OutputWithoutChanges,
        asks_provider=typing.get_origin(execution) is ExecutionWithOAuth2,
        context_is_own=source is ContextSource,
    )


def signature(function: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The types of a function's two parameters and of what it returns."""
    hints = typing.get_type_hints(function)
    first, second = inspect.signature(function).parameters
    return hints[first], hints[second], hints["return"]


def _output(returned: Any) -> tuple[Any, type[Wire]]:
    """The type of the output and of its result. An execution may also return a RefusalWithRows."""
    outputs = (Output, OutputWithoutChanges)
    (output,) = [hint for hint in (returned, *typing.get_args(returned)) if typing.get_origin(hint) in outputs]
    (result,) = typing.get_args(output)
    return typing.get_origin(output), result


CATALOGUE = Catalogue()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a query may read: one version of the organization, and the store for rows beside it.

    `source`: the address that the query came from. `now_ms`: milliseconds since the epoch. `environment`: for
    queries that evaluate policies.
    """

    organization: Organization
    caller: Principal
    source: SourceAddress
    now_ms: int
    store: Store
    identities: Identities
    environment: Environment
    open_activities: OpenActivities


class QueryOperation(Operation, frozen=True, kw_only=True):
    """An operation that reads.

    `of_version`: the answer depends on the organization's version alone, so the encoded answer can be cached.
    `of_caller`: it reads the organization of the caller, even if the request names a sub-organization of it.
    """

    kind: ClassVar[OperationKind] = "query"

    answer: Callable[[Reading, Any], Wire | Awaitable[Wire]]
    of_version: bool
    of_caller: bool
    decoder: Decoder


Declared = TypeVar("Declared", bound=Callable[..., Any])
OlderT = TypeVar("OlderT", bound=RequestStruct)


def query(
    *,
    of_version: bool = False,
    before_session: bool = False,
    for_recovery: bool = False,
    of_caller: bool = False,
    own: bool = False,
) -> Callable[[Declared], Declared]:
    """Declare a query: a function (Reading, request) -> response, or a coroutine of that shape.

    QueryOperation describes the parameters. `own`: the public API has no such path.
    """

    def declare(answer: Declared) -> Declared:
        _, request, response = signature(answer)
        _add(
            QueryOperation(
                name=answer.__name__,
                module=answer.__module__,
                summary=summary(answer),
                request_structs=(request,),
                answer_struct=response,
                answer=answer,
                of_version=of_version,
                before_session=before_session,
                for_recovery=for_recovery,
                of_caller=of_caller,
                is_own=own,
                decoder=decoder(request),
            )
        )
        return answer

    return declare


class Older(msgspec.Struct, frozen=True):
    """An older version of an activity type, still accepted."""

    activity_type: str
    upgrade: Callable[[Any], RequestStruct]
    result_key: str | None
    result: Callable[[Any], Wire] | None


def older(
    activity_type: str,
    upgrade: Callable[[OlderT], RequestStruct],
    *,
    result_key: str | None = None,
    result: Callable[[Any], Wire] | None = None,
) -> Older:
    """An older version of an activity type. `upgrade` turns its intent into the current one.

    `result_key`: the name of its result in answers, if it differs from the current one. `result`: turns the current
    result into the older one, if their members differ.
    """
    return Older(activity_type, upgrade, result_key, result)


def activity(
    activity_type: str,
    *,
    owner: OwnerOf | None = None,
    before_session: bool = False,
    for_recovery: bool = False,
    in_any_organization: bool = False,
    by_parent: ByParent | None = None,
    accepts: tuple[Older, ...] = (),
    load_context: LoadContext | None = None,
    resources: Resources | None = None,
    precondition: Precondition | None = None,
    oidc_tokens: OidcTokens | None = None,
    adds: Adds | None = None,
    signs: Signs | None = None,
    also_does: tuple[str, ...] = (),
    own: bool = False,
) -> Callable[[Declared], Declared]:
    """Declare an activity: a function (Execution, intent) -> Output[result], or a coroutine of that shape.

    ActivityOperation describes the parameters. `load_context` is a coroutine (ContextSource, intent) -> T.
    `resources` is a function (Organization, intent, T) -> keywords of policies; T is None without `load_context`.
    `precondition` is a rule that no policy overrides, a function (id of the submitter, intent) that raises.
    `oidc_tokens` is a function of the intent: its ID tokens by field; `execution.identities` has what they prove.
    `own`: the public API has no such path.

    The types of the functions declare the rest:

    - The function takes ExecutionWith[T] in place of Execution if `load_context` returns T, and
      ExecutionWithOAuth2[T] if it also asks a provider of OAuth 2.0.
    - It returns OutputWithoutChanges[result] if it never changes the organization. Then submissions do not queue.
      It may return a RefusalWithRows in place of the output.
    - `load_context` takes a ForeignSource in place of ContextSource if it reads rows of other organizations only.
      Then it does not wait for the commits of its own organization.
    """

    _check_known_to_policies(activity_type)

    def declare(execute: Declared) -> Declared:
        operation = replace(
            _operation(execute, activity_type, accepts, load_context, resources),
            owner=owner,
            before_session=before_session,
            for_recovery=for_recovery,
            in_any_organization=in_any_organization,
            by_parent=by_parent,
            precondition=precondition,
            oidc_tokens=oidc_tokens,
            adds=adds,
            signs=signs,
            also_does=also_does,
            is_own=own,
        )
        _add(operation)
        return execute

    return declare


def vote(
    activity_type: str, selection: VoteSelection, *, before_session: bool = False
) -> Callable[[Declared], Declared]:
    """Declare a vote on another activity. Its function declares the types and never runs: `pipeline.vote` decides
    votes."""

    _check_known_to_policies(activity_type)

    def declare(execute: Declared) -> Declared:
        operation = _operation(execute, activity_type)
        CATALOGUE.add(replace(operation, vote=selection, before_session=before_session))
        return execute

    return declare


def _add(operation: Operation) -> None:
    """Add to the catalogue. Raises ValueError for an operation of our own that is not declared as such, and for one
    of the public API that is."""
    if not operation.is_own and operation.path not in PATHS:
        raise ValueError(
            f"the public API has no {operation.path}: correct the name of the function, or declare it with own=True"
            " and name it in docs/divergences.md"
        )
    if operation.is_own and operation.path in PATHS:
        raise ValueError(f"{operation.path} is an operation of the public API: declare it without own=True")
    CATALOGUE.add(operation)


def _check_known_to_policies(activity_type: str) -> None:
    """Raise ValueError if policies do not know the activity type."""
    if attributes_of(activity_type) is None and activity_kind(activity_type) not in VOTES:
        raise ValueError(f"keystead.policies.resources does not list {activity_type}")


def operator_activity(
    activity_type: str, *, load_context: LoadContext | None = None, adds: Adds | None = None
) -> Callable[[Declared], Declared]:
    """Declare an activity of the operator, as `activity` declares one of users. It has no path, so no request
    submits it, and no policy decides it: see `pipeline.operator_activity`."""

    def declare(execute: Declared) -> Declared:
        operation = _operation(execute, activity_type, load_context=load_context)
        CATALOGUE.add(replace(operation, adds=adds), has_path=False)
        return execute

    return declare


def _operation(
    execute: Callable[..., Any],
    activity_type: str,
    accepts: tuple[Older, ...] = (),
    load_context: LoadContext | None = None,
    resources: Resources | None = None,
) -> ActivityOperation:
    """The operation as its functions declare it. Raises TypeError if their types do not fit together."""
    types = declared_types(execute, load_context, resources)
    current = IntentVersion(
        activity_type=activity_type,
        intent=types.intent,
        result_key=wire_key(types.result),
        result_struct=types.result,
        upgrade=lambda unchanged: unchanged,
        decoder=decoder(types.intent, within="parameters"),
    )
    versions = (current, *(_older_version(version, types.result) for version in accepts))
    return ActivityOperation(
        name=execute.__name__,
        module=execute.__module__,
        summary=summary(execute),
        request_structs=tuple(version.intent for version in versions),
        answer_struct=ActivityResponse,
        activity_types=tuple(version.activity_type for version in versions),
        results={version.result_key: version.result_struct for version in versions},
        versions=versions,
        result=types.result,
        execute=execute,
        changes_organization=types.changes_organization,
        asks_provider=types.asks_provider,
        load_context=load_context,
        context_is_own=types.context_is_own,
        resources=resources,
    )


def _older_version(older: Older, result: type[Wire]) -> IntentVersion:
    intent = next(iter(typing.get_type_hints(older.upgrade).values()))
    if older.result is not None:
        result = typing.get_type_hints(older.result)["return"]
    return IntentVersion(
        activity_type=older.activity_type,
        intent=intent,
        result_key=older.result_key or wire_key(result),
        result_struct=result,
        upgrade=older.upgrade,
        decoder=decoder(intent, within="parameters"),
        result=older.result,
    )
