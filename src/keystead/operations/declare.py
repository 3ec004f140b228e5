"""How an operation is declared: a decorated function; its type hints are the request and the answer.

Here: `query`, `activity`, and the catalogue that they fill. Not here: any operation.
A function's name is its path; the first line of its docstring is its documentation.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

import msgspec

from keystead.api.catalogue import Catalogue, Operation, OperationKind, activity_kind, wire_key
from keystead.api.decoding import Decoder, decoder
from keystead.api.enums import VoteSelection
from keystead.api.parameters import RequestStruct
from keystead.api.records import ActivityResponse, Wire
from keystead.operations.docstrings import summary
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.context import ContextSource
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution_values import Execution, ExecutionOutput, ExecutionWith
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.operation import (
    ActivityOperation,
    IntentVersion,
    LoadContext,
    OidcTokens,
    Precondition,
    Resources,
    UserLookup,
)
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Store
from keystead.policies.resources import GOVERNED_KINDS, ROOT_ONLY, UNGOVERNED

CATALOGUE = Catalogue()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a query may read: one version of the organization, and the store for rows beside it.

    `now_ms`: milliseconds since the epoch. `environment`: for queries that evaluate policies.
    """

    organization: Organization
    caller: Principal
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
) -> Callable[[Declared], Declared]:
    """Declare a query: a function (Reading, request) -> response, or a coroutine of that shape.

    QueryOperation describes the parameters.
    """

    def declare(answer: Declared) -> Declared:
        _, request, response = _signature(answer)
        CATALOGUE.add(
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
    owner: Callable[[Any], str | None] | None = None,
    vote: VoteSelection | None = None,
    before_session: bool = False,
    for_recovery: bool = False,
    by_parent: bool = False,
    user_lookup: UserLookup | None = None,
    accepts: tuple[Older, ...] = (),
    load_context: LoadContext | None = None,
    context_is_own: bool = True,
    resources: Resources | None = None,
    precondition: Precondition | None = None,
    oidc_tokens: OidcTokens | None = None,
    asks_provider: bool = False,
    changes_organization: bool = True,
) -> Callable[[Declared], Declared]:
    """Declare an activity: a function (Execution, intent) -> ExecutionOutput[result], or a coroutine of that shape.

    It may return a RefusalWithRows in place of the output. ActivityOperation describes the other parameters.

    With `load_context`, a coroutine (ContextSource, intent) -> T, the function takes ExecutionWith[T] in place of
    Execution. `context_is_own=False`: `load_context` reads only rows of other organizations, so it need not wait
    for the commits of this one. `resources` is a function (Organization, intent, T) -> keywords of policies; T is
    None without `load_context`. `precondition` is a rule that no policy overrides, a function (id of the submitter,
    intent) that raises. `oidc_tokens` is a function of the intent: its ID tokens by field; `execution.identities`
    has what they prove.
    """

    def declare(execute: Declared) -> Declared:
        execution, intent, output = _signature(execute)
        _check_signatures(execution, intent, load_context, resources)
        output, *_ = [hint for hint in (output, *typing.get_args(output)) if _is_output(hint)]
        (result,) = typing.get_args(output)
        current = IntentVersion(
            activity_type=activity_type,
            intent=intent,
            result_key=wire_key(result),
            result_struct=result,
            upgrade=lambda unchanged: unchanged,
            decoder=decoder(intent, within="parameters"),
        )
        versions = (current, *(_older_version(version, result) for version in accepts))
        if activity_kind(activity_type) not in GOVERNED_KINDS.keys() | ROOT_ONLY | UNGOVERNED:
            raise ValueError(f"keystead.policies.resources does not list {activity_type}")
        CATALOGUE.add(
            ActivityOperation(
                name=execute.__name__,
                module=execute.__module__,
                summary=summary(execute),
                request_structs=tuple(version.intent for version in versions),
                answer_struct=ActivityResponse,
                activity_types=tuple(version.activity_type for version in versions),
                results={version.result_key: version.result_struct for version in versions},
                versions=versions,
                result=result,
                execute=execute,
                owner=owner,
                vote=vote,
                before_session=before_session,
                for_recovery=for_recovery,
                by_parent=by_parent,
                user_lookup=user_lookup,
                load_context=load_context,
                context_is_own=context_is_own,
                resources=resources,
                precondition=precondition,
                oidc_tokens=oidc_tokens,
                asks_provider=asks_provider,
                changes_organization=changes_organization,
            )
        )
        return execute

    return declare


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


def _check_signatures(
    execution: Any, intent: Any, load_context: LoadContext | None, resources: Resources | None
) -> None:
    """Raise TypeError unless the execution and `resources` take the intent and what `load_context` gives."""
    context: Any = type(None)
    expected: Any = Execution
    if load_context is not None:
        source, parameters, context = _signature(load_context)
        expected = ExecutionWith[context]
        if (source, parameters) != (ContextSource, intent):
            raise TypeError(
                f"{load_context.__name__} takes (ContextSource, {intent.__name__}), not ({source}, {parameters})"
            )
    if execution != expected:
        raise TypeError(f"an execution of {intent.__name__} takes {expected}, not {execution}")
    if resources is not None:
        takes = [hint for name, hint in typing.get_type_hints(resources).items() if name != "return"]
        if takes != [Organization, intent, context]:
            raise TypeError(f"{resources.__name__} takes (Organization, {intent}, {context}), not {takes}")


def _is_output(hint: Any) -> bool:
    """Whether the type is `ExecutionOutput[…]`. An execution may also return a RefusalWithRows."""
    return typing.get_origin(hint) is ExecutionOutput


def _signature(function: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The types of a function's two parameters and of what it returns."""
    hints = typing.get_type_hints(function)
    first, second = inspect.signature(function).parameters
    return hints[first], hints[second], hints["return"]
