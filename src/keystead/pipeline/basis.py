"""What one attempt at a request is decided on: versions of organizations, a time, an output computed before."""

from __future__ import annotations

import msgspec

from keystead.organizations.organization import Organization, Version
from keystead.pipeline.execution import ComputedOutput


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt is decided on.

    `organization`: the version of the request's organization that is decided on, and that the commit replaces.
    `authority`: the caller's organization, whose policies decide. It is the parent if a user of the parent submits
    to a sub-organization; then `authorized_by` is its id and version. Otherwise it is `organization`. `now_ms`: the
    time of the decision.
    """

    organization: Organization
    authority: Organization
    authorized_by: tuple[str, Version] | None
    now_ms: int
    computed: ComputedOutput | None = None
