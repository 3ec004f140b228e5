"""The paths of the API: from a stamped request to the answer of its query or its submission.

Here: the order of decoding, authentication, limits and the operation. Not here: routing, refusals and log lines
(`application`), the steps of a write (`pipeline`), requests that the server stamps itself (`auth_proxy`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from keystead.api.catalogue import Operation
from keystead.api.records import ActivityResponse
from keystead.api.rendering import answer
from keystead.operations import QueryOperation
from keystead.operations.activities import shown_activity
from keystead.organizations.ip_allowlists import EXEMPT, SourceAddress
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, ProvenKey
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import Submission, SubmissionBody, read_submission
from keystead.primitives.share import Work
from keystead.server import authentication
from keystead.server.activity_warnings import log_activity_warnings
from keystead.server.answers import form_of, is_large, large_answer
from keystead.server.auth_proxy import AuthProxyEndpoints
from keystead.server.authentication import (
    API_KEY_STAMP,
    stamp_of,
)
from keystead.server.callers import reader, submitter
from keystead.server.http.messages import HttpRequest
from keystead.server.limits.concurrency_limit import RequestGroup
from keystead.server.limits.rate_limits import CallerLimits
from keystead.server.limits.rate_table import RateTable
from keystead.server.logs import RequestLine
from keystead.server.service import Service
from keystead.stamps.attested import read_attested_stamp

T = TypeVar("T")


class ApiEndpoints:
    """Answers queries and submissions. `auth_proxy` answers the requests that it stamps itself."""

    def __init__(self, service: Service, rates: RateTable) -> None:
        """`rates`: shared by the processes of this machine."""
        settings = service.settings
        self._service = service
        self._limits = CallerLimits(settings.rate_limit, settings.credential_rate_limit, rates)
        self.auth_proxy = AuthProxyEndpoints(service, self._submit_for_proxy, rates)

    async def answer_query(self, operation: QueryOperation, request: HttpRequest, line: RequestLine) -> bytes:
        """The encoded answer to a query. Sets fields of the log line. Raises ServiceError."""
        service, source = self._service, self._source(request)
        form, stamp = form_of(request, service.settings.answer_form), stamp_of(request.headers)
        proven, query = await self._opened(
            operation, stamp, request.body, request.client.limit_key, operation.decoder.decode_request
        )
        line.organization_id = query.organization_id

        async def find_caller() -> tuple[Organization, Principal]:
            return await reader(
                service.store,
                query.organization_id,
                proven,
                service.clock.now_ms(),
                before_session=operation.before_session,
                of_caller=operation.of_caller,
                source=source,
            )

        organization, caller = await find_caller()
        line.user_id = caller.user.user_id
        self._limits.spend(organization.id, caller, time.monotonic())
        cached_answers = service.store.cached_answers(organization) if operation.of_version else None
        key = (operation.name, form)
        answer_body = cached_answers.get(key) if cached_answers is not None else None
        if answer_body is not None:
            service.share.note(organization.id)
            return answer_body
        async with service.concurrency.slot(organization.id) as has_waited:
            if has_waited:  # others have changed the organization meanwhile, or removed its caller
                organization, caller = await find_caller()
                cached_answers = service.store.cached_answers(organization) if operation.of_version else None
                answer_body = cached_answers.get(key) if cached_answers is not None else None
            if answer_body is None:
                reading = service.reading(organization, caller, source)
                answered = operation.answer(reading, query)
                response = await answered if hasattr(answered, "__await__") else answered
                if is_large(response):
                    answer_body = await large_answer(organization.id, response, form, service.share)
                else:
                    answer_body = answer(response, form)
                if cached_answers is not None:
                    cached_answers.keep(key, answer_body)
        return answer_body

    async def answer_submission(
        self, operation: ActivityOperation, request: HttpRequest, line: RequestLine
    ) -> bytes:
        """Carry out a submission. Returns the encoded answer, with the activity. Sets fields of the log line.
        Raises ServiceError."""
        source, limit_key = self._source(request), request.client.limit_key
        activity, submission = await self._submit(
            operation, stamp_of(request.headers), request.body, line, source, limit_key
        )
        reading = self._service.reading(submission.seen, submission.caller, source)
        shown = await shown_activity(reading, activity, submission.body)
        return answer(ActivityResponse(activity=shown), form_of(request, self._service.settings.answer_form))

    async def _opened(
        self,
        operation: Operation,
        stamp: tuple[bytes, bytes],
        body: bytes,
        limit_key: str,
        read: Callable[[bytes], T],
    ) -> tuple[ProvenKey, T]:
        """Verify the stamp, then read the body. `limit_key`: of the sender's address, whose share is used."""
        service = self._service
        header, value = stamp
        if header == API_KEY_STAMP:

            def verified_and_read() -> tuple[ProvenKey, T]:
                return authentication.verify_api_key_stamp(value, body, operation), read(body)

            return await service.share.run(limit_key, Work.BODY, verified_and_read, len(body))
        proven = await authentication.authenticate(header, value, body, operation, service.verifiers)
        return proven, await service.share.run(limit_key, Work.BODY, partial(read, body), len(body))

    async def _submit(
        self,
        operation: ActivityOperation,
        stamp: tuple[bytes, bytes],
        body: bytes,
        line: RequestLine,
        source: SourceAddress,
        limit_key: str,
        *,
        of_proxy: bool = False,
    ) -> tuple[RecordedActivity, Submission]:
        """Carry out a submission. Returns the activity that the body made or voted on, and the submission.
        `limit_key`: of the sender's address."""
        service = self._service
        proven, decoded = await self._opened(operation, stamp, body, limit_key, partial(read_submission, operation))
        organization_id = line.organization_id = decoded.envelope.organization_id
        if proven.identity is not None and operation.name == "stamp_login":
            attested = read_attested_stamp(stamp[1])
            await self.auth_proxy.link_google(proven.identity, attested, organization_id, line)
        submission = await submitter(service.store, decoded, proven, service.clock.now_ms(), source)
        caller, organization_id = submission.caller, submission.organization_id
        line.user_id = caller.user.user_id
        if proven.organization_id is not None:
            line.organization_id = proven.organization_id
        if of_proxy:
            self._limits.spend_for_proxy(organization_id, time.monotonic())
        else:
            self._limits.spend(organization_id, caller, time.monotonic())
        async with service.concurrency.slot(organization_id, _group(decoded, of_proxy=of_proxy)) as has_waited:
            if has_waited:  # others have changed the organization meanwhile, or removed its caller
                submission = await submitter(service.store, decoded, proven, service.clock.now_ms(), source)
            activity = await service.lifecycle.submit(submission)
        line.activity_id = activity.id
        if service.measurements is not None:
            service.measurements.count_submission(activity.type, activity.status)
        await log_activity_warnings(activity, caller, source, line.request_id, service.environment)
        return activity, submission

    async def _submit_for_proxy(
        self, operation: ActivityOperation, stamp: tuple[bytes, bytes], body: bytes, line: RequestLine
    ) -> RecordedActivity:
        activity, _ = await self._submit(operation, stamp, body, line, EXEMPT, line.client, of_proxy=True)
        return activity

    def _source(self, request: HttpRequest) -> SourceAddress:
        return SourceAddress(request.client.address) if self._service.settings.ip_allowlists else EXEMPT


def _group(body: SubmissionBody, *, of_proxy: bool) -> RequestGroup:
    if of_proxy:
        return RequestGroup.PROXY
    operation = body.operation
    waits_for_issuer = operation.asks_provider or (operation.oidc_tokens is not None and body.id_tokens())
    return RequestGroup.ISSUER if waits_for_issuer else RequestGroup.DIRECT
