"""A velocity control as the public schema has it: what it counts, over which time, and the limit.

The same structs are in requests, in answers and at rest. Here: their form. Not here: what they mean
(`organizations.velocity`), which assets and types of activities there are.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.bounds import THRESHOLD_DIGITS_MAX
from keystead.api.enums import AggregationMethod, AggregationOperator
from keystead.api.parameters import OneOf, RequestStruct, ShortText
from keystead.api.records import Timestamp, Wire

_DECIMAL = r"^[0-9]{1,38}(\.[0-9]{1,18})?\Z"
_SECONDS = r"^[1-9][0-9]{0,9}\Z"
_DECIMALS = r"^(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\Z"


class Empty(RequestStruct, frozen=True):
    """A choice that has no members of its own."""


class FilterActivity(RequestStruct, frozen=True):
    activity_type: ShortText


class ActivityFilter(RequestStruct, frozen=True):
    """No types, or none given: every type."""

    activity: Annotated[tuple[FilterActivity, ...], Meta(max_length=100)] | None = None


class AssetDefinition(RequestStruct, frozen=True):
    """`caip19`: the asset (`chains.assets`). `decimals`: how many decimal places its smallest unit is behind the
    unit of the threshold, as text."""

    caip19: Annotated[str, Meta(min_length=1, max_length=255)]
    decimals: Annotated[str, Meta(pattern=_DECIMALS)]


class Phase(OneOf, frozen=True):
    """When a transfer is measured. `submission` is reserved by the public schema."""

    signature: Empty | None = None
    submission: Empty | None = None


class ChainAssetTransfer(RequestStruct, frozen=True):
    definition: Annotated[tuple[AssetDefinition, ...], Meta(min_length=1, max_length=50)]
    filter: ActivityFilter | None = None
    phase: Phase | None = None


class ActivityExecution(RequestStruct, frozen=True):
    filter: ActivityFilter | None = None


class DataSource(OneOf, frozen=True):
    chain_asset_transfer: ChainAssetTransfer | None = None
    activity_execution: ActivityExecution | None = None


class RollingWindow(RequestStruct, frozen=True):
    """`duration`: seconds, as text."""

    duration: Annotated[str, Meta(pattern=_SECONDS)]


class Window(OneOf, frozen=True):
    rolling: RollingWindow | None = None
    infinite: Empty | None = None


class GroupBy(OneOf, frozen=True):
    organization: Empty | None = None
    user: Empty | None = None
    wallet: Empty | None = None


class Aggregation(RequestStruct, frozen=True):
    """`threshold`: decimal text."""

    method: AggregationMethod
    operator: AggregationOperator
    threshold: Annotated[str, Meta(pattern=_DECIMAL)]
    window: Window
    group_by: GroupBy

    def __post_init__(self) -> None:
        if len(self.threshold.replace(".", "")) > THRESHOLD_DIGITS_MAX:
            raise ValueError(f"expected at most {THRESHOLD_DIGITS_MAX} digits in `threshold`")


class VelocityControl(Wire, frozen=True):
    """`identifier`: policies name the control `controls.<identifier>`."""

    velocity_control_id: str
    organization_id: str
    name: str
    identifier: str
    data_source: DataSource
    aggregation: Aggregation
    created_at: Timestamp
    updated_at: Timestamp
