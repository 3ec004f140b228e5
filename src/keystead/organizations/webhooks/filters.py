"""Which events of a type an endpoint gets: the JSON of a subscription's `filtersJson`. Pure.

The public documentation names the field and describes no filters; these are this server's own.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid

_FilterText = Annotated[str, Meta(max_length=128)]
_FilterList = Annotated[tuple[_FilterText, ...], Meta(max_length=100)]


class Filters(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The filters of a subscription. An event matches if each list that is given contains its value.

    `activity_types`: a type stands for every version of its kind. `organization_ids`: the organizations of the
    activity.
    """

    activity_types: _FilterList | None = None
    statuses: Annotated[tuple[ActivityStatus, ...], Meta(max_length=100)] | None = None
    organization_ids: Annotated[tuple[Uuid, ...], Meta(max_length=100)] | None = None

    def matches(self, activity_type: str, status: ActivityStatus, organization_id: str) -> bool:
        kinds = None if self.activity_types is None else list(map(activity_kind, self.activity_types))
        return (
            _among(activity_kind(activity_type), kinds)
            and _among(status, self.statuses)
            and _among(organization_id, self.organization_ids)
        )


_decoder = msgspec.json.Decoder(Filters)
_NONE = Filters()


def check_filters(text: str | None, field: str) -> None:
    """Raise InvalidRequest unless the text is the JSON of filters, or absent."""
    if not text:
        return
    try:
        _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as refused:
        raise InvalidRequest(
            f"invalid webhook filters: field `{field}`: expected JSON such as "
            '{"activityTypes": ["ACTIVITY_TYPE_CREATE_WALLET"], "statuses": ["ACTIVITY_STATUS_COMPLETED"], '
            f'"organizationIds": ["…"]}}, each member optional: {refused}'
        ) from None


@functools.lru_cache(maxsize=1_024)
def filters_of(text: str | None) -> Filters:
    """The filters of a text that `check_filters` has accepted."""
    return _decoder.decode(text) if text else _NONE


def _among(value: str, wanted: Sequence[str] | None) -> bool:
    return wanted is None or value in wanted
