"""What a velocity control measures, in exact integers. Pure.

Here: a control in the form in which it is computed, what an activity adds to it, and amounts as text. Not here: the
counters (`counters`), what leaves an account with a signature (`chains.outflow`).
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.enums import AggregationMethod, AggregationOperator
from keystead.api.velocity_controls import AssetDefinition, ChainAssetTransfer, VelocityControl
from keystead.chains.assets import asset_named
from keystead.chains.outflow import DIGITS, ScaledAsset, SignedMovements, outflow
from keystead.organizations.velocity.counters import INFINITE
from keystead.primitives.unreadable import Unreadable

_FRACTION_DIGITS = 18

_kind_of = lru_cache(maxsize=1_000)(activity_kind)


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A control, ready to be computed.

    `scale`: sums are integers, in units of 10^-scale of the threshold's. `assets`: None if it counts executed
    activities. `kinds`: those that it counts; None for all. `window_ms`: or INFINITE. `one`: 1 in a sum. `over`: a
    sum above every threshold.
    """

    control: VelocityControl
    scale: int
    operator: AggregationOperator
    threshold: int
    assets: tuple[ScaledAsset, ...] | None
    kinds: frozenset[str] | None
    window_ms: int
    one: int
    over: int

    def added_by(self, activity_type: str, signed: SignedMovements | None) -> int | Unreadable | None:
        """What an activity adds to the sum; None if it does not count. `signed`: what it signs."""
        if self.kinds is not None and _kind_of(activity_type) not in self.kinds:
            return None
        if self.assets is None:
            return self.one
        leaving = None if signed is None else outflow(signed, self.assets, self.over)
        if leaving is None or isinstance(leaving, Unreadable):
            return leaving
        return leaving if self.control.aggregation.method is AggregationMethod.SUM else self.one

    def group(self, user_id: str, wallet_id: str) -> str:
        """The group of an activity. `wallet_id`: of the wallet or the private key that it uses; "" for neither."""
        by = self.control.aggregation.group_by
        if by.user is not None:
            return user_id
        return wallet_id if by.wallet is not None else ""

    def text(self, amount: int) -> str:
        """An amount of the sum, as decimal text in the unit of the threshold."""
        whole, part = divmod(amount, self.one)
        fraction = f"{part:0{self.scale}d}".rstrip("0")
        return f"{whole}.{fraction}" if fraction else str(whole)


@lru_cache(maxsize=10_000)
def measure_of(control: VelocityControl) -> Measure:
    """The measure of a control, which never changes."""
    transfer, execution = control.data_source.chain_asset_transfer, control.data_source.activity_execution
    filter_ = (transfer or execution or ChainAssetTransfer(definition=())).filter
    types = [each.activity_type for each in (filter_.activity or ())] if filter_ is not None else []
    definitions = () if transfer is None else transfer.definition
    scale = max([_FRACTION_DIGITS, *(int(each.decimals) for each in definitions)])
    rolling = control.aggregation.window.rolling
    return Measure(
        control=control,
        scale=scale,
        operator=control.aggregation.operator,
        threshold=_scaled(control.aggregation.threshold, scale),
        assets=None if transfer is None else tuple(_scaled_asset(each, scale) for each in definitions),
        kinds=frozenset(map(activity_kind, types)) if types else None,
        one=10**scale,
        over=10 ** (DIGITS + scale),
        window_ms=INFINITE if rolling is None else int(rolling.duration) * 1000,
    )


def _scaled_asset(definition: AssetDefinition, scale: int) -> ScaledAsset:
    return ScaledAsset(asset_named(definition.caip19), 10 ** (scale - int(definition.decimals)))


def _scaled(threshold: str, scale: int) -> int:
    whole, _, fraction = threshold.partition(".")
    scaled: int = int(whole) * 10**scale + int(fraction or "0") * 10 ** (scale - len(fraction))
    return scaled
