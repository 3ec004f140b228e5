"""Memos: writing them and reading them."""

from __future__ import annotations

from keystead.organizations.kinds.memos import Memo, Memos

from keystead.api.decoding import Label
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.organization import Put
from keystead.pipeline.execution import Execution, Output


class CreateMemoIntent(RequestStruct, frozen=True):
    text: Label


class CreateMemoResult(Wire, frozen=True):
    memo_id: str


@activity("ACTIVITY_TYPE_CREATE_MEMO", own=True)
def create_memo(execution: Execution, intent: CreateMemoIntent) -> Output[CreateMemoResult]:
    """Write a memo."""
    execution.organization.of(Memos).check_limit(1, execution.limits)
    memo = Memo(execution.new_id(), intent.text, execution.submitter_id)
    return Output(result=CreateMemoResult(memo_id=memo.memo_id), changes=(Put(memo),))


class ListMemosRequest(QueryRequest, frozen=True):
    pass


class ListMemosResponse(Wire, frozen=True):
    texts: tuple[str, ...]


@query(of_version=True, own=True)
def list_memos(reading: Reading, request: ListMemosRequest) -> ListMemosResponse:
    """The texts of all memos, oldest first."""
    return ListMemosResponse(texts=tuple(memo.text for memo in reading.organization.of(Memos).in_order()))
