"""`python -m bench.contention`: submissions to one organization, and to many, at one, two and four servers.

Here: servers of one process each over one PostgreSQL database, each with a port of its own, so that the callers are
spread evenly: of several processes that listen at one port, the kernel may give all connections to one. Not here:
the other measurements (`bench`).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench.cases import CREATE_INTERFACE
from bench.cores import cores_here
from bench.crowd import Member, new_members, settle
from bench.installation import Installation, new_installation
from bench.load import send
from bench.processes import exit_on_sigterm
from bench.server import running
from bench.stamping import Stamping
from tests.support.postgres import running_postgres

_WARM_UP = 300
_LIMIT_S = 120.0
MEMBERS = 64


class Rate(msgspec.Struct, frozen=True):
    """Answers per second, the median of the rounds. `of_one`: as a share of what one server reaches."""

    organizations: int
    servers: int
    rate: float
    of_one: float
    failures: int


def measure(
    installation: Installation, members: Sequence[Member], counts: Sequence[int], requests: int, rounds: int
) -> Iterator[Rate]:
    """The numbers of servers take turns, so that whatever else the machine does meets all of them."""
    cores = cores_here()
    organization = installation.organizations[CREATE_INTERFACE.furnishing]
    rates: dict[tuple[int, int], list[float]] = {}
    failures: dict[tuple[int, int], int] = {}
    for _ in range(rounds):
        for count in counts:
            with ExitStack() as stack:
                servers = []
                for number in range(count):
                    folder = installation.folder / f"server-{number}"
                    folder.mkdir(exist_ok=True)
                    servers.append(stack.enter_context(running(installation.settings, folder, cores.all)))
                stamping = Stamping(CREATE_INTERFACE, organization, servers[0].base_url)
                ports = [server.port for server in servers]
                for many in (1, len(members)):
                    if many == 1:
                        asked = stamping.requests(_WARM_UP + requests)
                    else:
                        turns = [members[number % many] for number in range(_WARM_UP + requests)]
                        asked = stamping.requests_of(turns)
                    load = send(ports, asked, warm_up=_WARM_UP, limit_s=_LIMIT_S)
                    rates.setdefault((many, count), []).append(load.rate)
                    failures[many, count] = failures.get((many, count), 0) + len(load.failures)
    for (many, count), found in sorted(rates.items()):
        rate = statistics.median(found)
        of_one = rate / statistics.median(rates[many, counts[0]])
        yield Rate(many, count, rate, of_one, failures[many, count])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.contention", description=__doc__)
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 4], help="how many; the first is the base")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    exit_on_sigterm()
    members = new_members(MEMBERS)
    with (
        tempfile.TemporaryDirectory(prefix="keystead-bench-") as folder,
        running_postgres(durable=True) as postgres,
    ):
        installation = new_installation(
            postgres.create_database(), Path(folder) / "one", cores_here().all, [CREATE_INTERFACE.furnishing]
        )
        settle(installation, members)
        print("organizations  servers  submissions/s  of one server  failures")
        for rate in measure(installation, members, given.servers, given.requests, given.rounds):
            print(
                f"{rate.organizations:13}  {rate.servers:7}  {rate.rate:13.0f}  {rate.of_one:13.2f}"
                f"  {rate.failures:8}"
            )


if __name__ == "__main__":
    main()
