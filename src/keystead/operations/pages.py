"""The page of a list that a request asks for with `paginationOptions`."""

from __future__ import annotations

from keystead.api.errors import InvalidRequest
from keystead.api.parameters import Pagination
from keystead.operations.bounds import PAGE_RECORDS_MAX
from keystead.pipeline.store import Page

DEFAULT_LIMIT = 10


def page_of(options: Pagination | None) -> Page:
    """The page of a request. Raises InvalidRequest for a limit outside 1 to 100, or for both cursors. An empty
    cursor counts as absent."""
    if options is None:
        return Page(DEFAULT_LIMIT)
    text = options.limit or str(DEFAULT_LIMIT)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= PAGE_RECORDS_MAX):
        raise InvalidRequest(
            f"invalid request body: field `paginationOptions.limit`: {text!r}: expected 1 to {PAGE_RECORDS_MAX} "
            "as decimal text"
        )
    if options.before and options.after:
        raise InvalidRequest("invalid request body: field `paginationOptions`: send `before` or `after`, not both")
    return Page(int(text), options.before or None, options.after or None)


def unknown_cursor(page: Page) -> InvalidRequest:
    """The error for a page whose cursor is not the id of an entry."""
    return InvalidRequest(
        f"invalid request body: field `paginationOptions.{'before' if page.before else 'after'}`: "
        f"{page.before or page.after!r} is not the id of an entry of this list"
    )
