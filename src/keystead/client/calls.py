"""The interface that the generated methods call: one method to query, one to submit.

Not here: the methods (`operations`), and how either is done (`client`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from keystead.client.activity import SubmittedT

AnswerT = TypeVar("AnswerT")


class Calls(ABC):
    """Calls that return when they are answered. Names of fields are those of the wire; None is left out."""

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
