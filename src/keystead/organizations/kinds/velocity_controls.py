"""Velocity controls: limits on what an organization's keys sign, and on how often. They never change.

Not here: what counts and how much is left (`organizations.velocity`), the rows of the counters (there, too).
"""

from __future__ import annotations

from keystead.api.velocity_controls import VelocityControl
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

VELOCITY_CONTROLS = Limit(
    name="velocity_controls",
    default=20,
    description="Most velocity controls of an organization.",
    called="velocity controls",
)


class VelocityControls(RecordMap[VelocityControl], frozen=True):
    stored_name = "velocity_control"
    record = VelocityControl
    id_field = "velocity_control_id"
    limits = (VELOCITY_CONTROLS,)
    label_field = "identifier"
    label_called = "velocity control identifier"
