"""list_email_events: the delivery events of the e-mails of this organization. Not here: sending."""

from __future__ import annotations

from keystead.api.parameters import Pagination, QueryRequest, ShortText
from keystead.api.records import Wire
from keystead.operations.declare import Reading, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, SendResult


class EmailEventDetails(Wire, frozen=True):
    """`diagnostic_code`: why an attempt failed. `delivery_smtp_response`: the answer of the mail server.

    A member that is not known is "". All are present, because strict clients refuse an answer without one.
    """

    bounce_type: str
    bounce_sub_type: str
    diagnostic_code: str
    delivery_smtp_response: str
    delivery_delay_type: str
    complaint_feedback_type: str


class EmailEvent(Wire, frozen=True):
    """`event_type`: Send, DeliveryDelay (it is sent again later) or Bounce (it was dropped). `sender_tenant`: "",
    because this server has none. Times are milliseconds as text."""

    id: str
    organization_id: str
    message_id: str
    event_type: str
    from_address: str
    to_address: str
    sender_tenant: str
    timestamp: str
    created_at: str
    details: EmailEventDetails


class ListEmailEventsRequest(QueryRequest, frozen=True, kw_only=True):
    email: ShortText
    event_type: ShortText | None = None
    pagination_options: Pagination | None = None


class ListEmailEventsResponse(Wire, frozen=True):
    email_events: tuple[EmailEvent, ...]


@query()
async def list_email_events(reading: Reading, request: ListEmailEventsRequest) -> ListEmailEventsResponse:
    """The events of e-mails to an address, newest first, by page."""
    page = page_of(request.pagination_options)
    organization_id = reading.organization.id
    events = await reading.store.attached.email_events(
        organization_id, request.email, request.event_type or "", page
    )
    if events is None:
        raise unknown_cursor(page)
    return ListEmailEventsResponse(email_events=tuple(_shown(organization_id, event) for event in events))


def _shown(organization_id: str, event: EmailEventRow) -> EmailEvent:
    sent = event.type is SendResult.SENT
    return EmailEvent(
        id=event.id,
        organization_id=organization_id,
        message_id=event.message_id,
        event_type=event.type.value,
        from_address=event.sender,
        to_address=event.recipient,
        sender_tenant="",
        timestamp=str(event.at_ms),
        created_at=str(event.at_ms),
        details=EmailEventDetails(
            bounce_type="",
            bounce_sub_type="",
            diagnostic_code="" if sent else event.detail,
            delivery_smtp_response=event.detail if sent else "",
            delivery_delay_type="",
            complaint_feedback_type="",
        ),
    )
