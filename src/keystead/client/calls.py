"""The interface that the generated methods call: one method to query, one to submit.

Not here: the methods (`operations`), the implementation (`client`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from keystead.client.activity import SubmittedT

AnswerT = TypeVar("AnswerT")


class Calls(ABC):
    """Calls that block until the answer. Names of fields are in camelCase; None is left out."""

    @abstractmethod
    def _query(
        self, name: str, answer: type[AnswerT], organization_id: str | None, fields: Mapping[str, Any]
    ) -> AnswerT: ...

    @abstractmethod
    def _submit(
        self,
        submitted: type[SubmittedT],
        organization_id: str | None,
        generate_app_proofs: bool,
        parameters: Mapping[str, Any],
    ) -> SubmittedT: ...


class AsyncCalls(ABC):
    """The same calls, awaited."""

    @abstractmethod
    async def _query(
        self, name: str, answer: type[AnswerT], organization_id: str | None, fields: Mapping[str, Any]
    ) -> AnswerT: ...

    @abstractmethod
    async def _submit(
        self,
        submitted: type[SubmittedT],
        organization_id: str | None,
        generate_app_proofs: bool,
        parameters: Mapping[str, Any],
    ) -> SubmittedT: ...
