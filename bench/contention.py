"""Submissions to one organization and to many, and sign-ups under one parent, at one, two and four servers of one
process over one PostgreSQL.

Each server has its own port, so that the connections are spread evenly: if several processes listen on one port,
the kernel may give all connections to one process. Not here: the other measurements (`run`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack

from bench.cases import CREATE_INTERFACE, SIGN_UP
from bench.installation import Installation
from bench.many_organizations import Tenant, new_tenants, write_organizations
from bench.measuring import Pace, Subject, measure
from bench.processor_shares import held_to
from bench.results import COMPARED_LEAST, Baseline, Result
from bench.server import running
from bench.stamping import Stamping

SERVERS = (1, 2, 4)
TENANTS = 64
"""How many different organizations are asked in turn. There are more of them than connections."""


def contended(
    installation: Installation, cores: Set[int], pace: Pace, processor_share: float | None
) -> Iterator[Result]:
    """The figures of each number of servers, compared with one server. They are measured in turns.

    `processor_share`: of one processor, which each server has; None: as much as there is. Raises BenchFailure.
    """
    tenants = new_tenants(TENANTS)
    write_organizations(installation, tenants)
    organization = installation.organizations[CREATE_INTERFACE.setup]
    one = [(organization.id, organization.key)]
    with ExitStack() as stack:
        servers = []
        for number in range(max(SERVERS)):
            folder = installation.folder / f"server-{number}"
            folder.mkdir(exist_ok=True)
            server = stack.enter_context(running(installation.settings, folder, cores))
            stack.enter_context(held_to(processor_share, server.pid))
            servers.append(server)
        for case, asked, chosen, least in (
            (CREATE_INTERFACE, "to one organization", one, COMPARED_LEAST),
            (CREATE_INTERFACE, f"to {TENANTS} organizations", tenants, None),
            (SIGN_UP, "under one parent", one, COMPARED_LEAST),
        ):
            stamping = Stamping(case, organization, servers[0].base_url)

            def requests(
                count: int, chosen: Sequence[Tenant] = chosen, stamping: Stamping = stamping
            ) -> list[bytes]:
                return stamping.requests_of(itertools.islice(itertools.cycle(chosen), count))

            subjects = [Subject(requests, servers[:count]) for count in SERVERS]
            baseline = None
            for count, figures in zip(SERVERS, measure(subjects, cores, pace), strict=True):
                yield Result(
                    case=case.name,
                    store="postgres",
                    workers=count,
                    organizations=len(chosen),
                    asked=f"{asked}, {count} {'server' if count == 1 else 'servers'}",
                    figures=figures,
                    baseline=baseline,
                )
                baseline = baseline or Baseline("one server", figures.share, least)
