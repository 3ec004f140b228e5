"""How long a quiet organization waits while another one floods the same server: one caller of the first, alone and
beside 32 callers of the second, in turns.

Both organizations ask for the same operation, each request when the one before is answered. What is compared is the
latency of the quiet one. Not here: the worst known requests (`fuzz.delays`), the other measurements (`run`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence, Set

import msgspec

from bench.cases import CREATE_INTERFACE, SIGN_RAW_PAYLOAD, Case
from bench.installation import Installation
from bench.load import Load, combined, send, send_beside
from bench.measuring import Figures
from bench.organizations import Organization, Setup, SetupServer, empty, of_ten, that_signs_payloads
from bench.processes import others_s, processor_s
from bench.results import Result, StoreName
from bench.server import Server, running
from bench.slowdown import Slowdown
from bench.stamping import Stamping
from bench.verification_rate import verifications_per_s

FLOODING = 32
"""Callers of the organization that floods."""

_FLOOD = 4_000
"""Requests of the flood in a round. The quiet organization is measured until they are answered."""

_ALONE = 300
"""Requests of the quiet organization in a round without a flood."""

_WARM_UP = 200
_LIMIT_S = 60.0


def another_that_signs(server: SetupServer) -> Organization:
    return that_signs_payloads(server)


class Pair(msgspec.Struct, frozen=True):
    """The operation, and what makes the organizations."""

    case: Case
    quiet: Setup
    flooding: Setup


PAIRS = (
    Pair(CREATE_INTERFACE, quiet=empty, flooding=of_ten),
    Pair(SIGN_RAW_PAYLOAD, quiet=another_that_signs, flooding=that_signs_payloads),
)
SETUPS: Sequence[Setup] = [setup for pair in PAIRS for setup in (pair.quiet, pair.flooding)]


class _Part(msgspec.Struct, frozen=True):
    """The loads of both organizations at the same time. `flood` is empty where the quiet one was alone."""

    quiet: Load
    flood: Load
    processor_s: float
    verifications_per_s: float
    others: float
    work_s: float


def beside_a_flood(store: StoreName, installation: Installation, cores: Set[int], rounds: int) -> Iterator[Result]:
    """The figures of the quiet organization, alone and beside the flood, of one server on these cores."""
    slowdown = Slowdown()
    for pair in PAIRS:
        with running(installation.settings, installation.folder, cores) as server:
            quiet, flood = (
                Stamping(pair.case, installation.organizations[setup], server.base_url)
                for setup in (pair.quiet, pair.flooding)
            )
            send([server.port], quiet.requests(_WARM_UP) + flood.requests(_WARM_UP), warm_up=0, limit_s=_LIMIT_S)
            alone: list[_Part] = []
            beside: list[_Part] = []
            for _ in range(rounds):
                alone.append(_part(server, cores, slowdown, quiet.requests(_ALONE), ()))
                beside.append(_part(server, cores, slowdown, quiet.requests(_FLOOD // 4), flood.requests(_FLOOD)))
            for asked, parts, of_flood in (
                ("of a quiet organization, alone", alone, False),
                (f"of a quiet organization, beside {FLOODING} callers of another", beside, False),
                (f"of these {FLOODING} callers", beside, True),
            ):
                yield Result(
                    case=pair.case.name,
                    store=store,
                    workers=1,
                    organizations=2,
                    asked=asked,
                    figures=_figures(server, slowdown, parts, of_flood=of_flood),
                )


def _part(
    server: Server, cores: Set[int], slowdown: Slowdown, quiet: Sequence[bytes], flood: Sequence[bytes]
) -> _Part:
    verifications, work_s = verifications_per_s(cores), slowdown.seconds(cores)
    begun, used_s, others_before_s = time.perf_counter(), processor_s(server.pid), others_s()
    quiet_load, flood_load = send_beside(server.port, quiet, flood, callers=FLOODING, limit_s=_LIMIT_S)
    return _Part(
        quiet=quiet_load,
        flood=flood_load,
        processor_s=processor_s(server.pid) - used_s,
        verifications_per_s=verifications,
        others=max(others_s() - others_before_s, 0.0) / (time.perf_counter() - begun),
        work_s=work_s,
    )


def _figures(server: Server, slowdown: Slowdown, parts: Sequence[_Part], *, of_flood: bool) -> Figures:
    """`processor_us` is for a request of either organization."""
    load = combined([part.flood if of_flood else part.quiet for part in parts])
    answered = sum(len(part.quiet.latencies) + len(part.flood.latencies) for part in parts)
    latencies = sorted(load.latencies)
    verifications = statistics.median(part.verifications_per_s for part in parts)
    return Figures(
        requests_per_s=load.rate,
        verifications_per_s=verifications,
        share=load.rate / verifications,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        processor_us=sum(part.processor_s for part in parts) / answered * 1e6,
        peak_mb=server.peak_bytes() / 1e6,
        requests=len(latencies),
        failures=len(load.failures),
        others=statistics.median(part.others for part in parts),
        slowed=statistics.median(slowdown.factor(part.work_s) for part in parts),
        first_failure=load.failures[0].decode(errors="replace") if load.failures else "",
    )
