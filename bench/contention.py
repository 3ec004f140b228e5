"""Submissions to one organization, and to many, at one, two and four servers of one process over one PostgreSQL.

Each server has a port of its own, so that the callers are spread evenly: of several processes that listen at one
port, the kernel may give all connections to one. Not here: the other measurements (`run`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack

from bench.cases import CREATE_INTERFACE
from bench.crowd import Member, new_members, settle
from bench.installation import Installation
from bench.measuring import Pace, Subject, measure
from bench.results import COMPARED_LEAST, Baseline, Result
from bench.server import running
from bench.stamping import Stamping

SERVERS = (1, 2, 4)
MEMBERS = 64
"""The organizations that are asked in turn, where they are different ones: more than there are callers."""


def contended(installation: Installation, cores: Set[int], pace: Pace) -> Iterator[Result]:
    """Figures of every number of servers, as shares of what one server reaches. The servers take turns."""
    members = new_members(MEMBERS)
    settle(installation, members)
    organization = installation.organizations[CREATE_INTERFACE.furnishing]
    one = [(organization.id, organization.key)]
    with ExitStack() as stack:
        servers = []
        for number in range(max(SERVERS)):
            folder = installation.folder / f"server-{number}"
            folder.mkdir(exist_ok=True)
            servers.append(stack.enter_context(running(installation.settings, folder, cores)))
        stamping = Stamping(CREATE_INTERFACE, organization, servers[0].base_url)
        for asked, chosen, least in (
            ("to one organization", one, COMPARED_LEAST),
            (f"to {MEMBERS} organizations", members, None),
        ):

            def requests(count: int, chosen: Sequence[Member] = chosen) -> list[bytes]:
                return stamping.requests_of(itertools.islice(itertools.cycle(chosen), count))

            subjects = [Subject(requests, servers[:count]) for count in SERVERS]
            baseline = None
            for count, figures in zip(SERVERS, measure(subjects, cores, pace), strict=True):
                yield Result(
                    case=CREATE_INTERFACE.name,
                    store="postgres",
                    workers=count,
                    organizations=len(chosen),
                    asked=f"{asked}, {count} {'server' if count == 1 else 'servers'}",
                    figures=figures,
                    baseline=baseline,
                )
                baseline = baseline or Baseline("one server", figures.share, least)
