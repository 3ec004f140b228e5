"""One measurement: blocks of requests between runs of the yardstick, and what they come to.

Where two servers are compared, their blocks take turns, so that whatever else the machine does meets both. Blocks
in which other programs used much of it, or the machine itself was slow, are repeated, a bounded number of times.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence, Set

import msgspec

from bench.gauge import Gauge
from bench.load import Load, send
from bench.processes import others_s
from bench.server import Server
from bench.yardstick import verifications_per_s

DISTURBED = 0.1
"""A block is worth repeating if others had more of a core than this."""

SLOWED = 1.2
"""Or if the machine took so much longer than at its best."""

_GAUGE = Gauge()

_PROBE = 400
"""Requests that tell roughly how fast a server is, so that blocks last as long as they should."""

_LIMIT_S = 60.0


class Pace(msgspec.Struct, frozen=True):
    """How many blocks, how long one lasts, and how many more there may be in place of disturbed ones."""

    blocks: int
    seconds: float
    spare: int


class Subject(msgspec.Struct, frozen=True):
    """What is measured: how requests are made, where they go. `warm_up`: at least so many before the clock runs."""

    make: Callable[[int], list[bytes]]
    server: Server
    warm_up: int = 0


class Figures(msgspec.Struct, frozen=True):
    """The medians of all blocks; latencies of all their requests together, in milliseconds.

    `others` is how much of a core other programs had meanwhile; `slowed` how long the machine took for one piece of
    work, in shares of the shortest time in this run.
    """

    requests_per_s: float
    verifications_per_s: float
    share: float
    p50_ms: float
    p99_ms: float
    peak_mb: float
    requests: int
    failures: int
    others: float
    slowed: float
    first_failure: str = ""


class _Block(msgspec.Struct, frozen=True):
    load: Load
    verifications_per_s: float
    others: float
    gauge_s: float

    @property
    def share(self) -> float:
        return self.load.rate / self.verifications_per_s

    @property
    def unrest(self) -> float:
        """What tells a disturbed block from another, before anybody looks at its figures."""
        return self.others + _GAUGE.slowed(self.gauge_s)

    @property
    def is_disturbed(self) -> bool:
        return self.others > DISTURBED or _GAUGE.slowed(self.gauge_s) > SLOWED


def measure(subjects: Sequence[Subject], cores: Set[int], pace: Pace) -> list[Figures]:
    """The figures of each subject, whose server runs on these cores."""
    counts = [max(int(_probe(subject) * pace.seconds), 100) for subject in subjects]
    blocks: list[list[_Block]] = [[] for _ in subjects]
    before = verifications_per_s(cores)
    for number in range(pace.blocks + pace.spare):
        if number >= pace.blocks and all(len(_undisturbed(some)) >= pace.blocks for some in blocks):
            break
        loads = [_loaded(subject, count, cores) for subject, count in zip(subjects, counts, strict=True)]
        after = verifications_per_s(cores)
        for (load, others, gauge_s), some in zip(loads, blocks, strict=True):
            some.append(_Block(load, (before + after) / 2, others, gauge_s))
        before = after
    return [
        _figures(subject, sorted(some, key=lambda block: block.unrest)[: pace.blocks])
        for subject, some in zip(subjects, blocks, strict=True)
    ]


def _probe(subject: Subject) -> float:
    return send(subject.server.port, subject.make(_PROBE), warm_up=_PROBE // 2, limit_s=_LIMIT_S).rate


def _loaded(subject: Subject, count: int, cores: Set[int]) -> tuple[Load, float, float]:
    """So many requests; how much of a core others had while they were answered, and what the gauge showed."""
    warm_up = max(count // 10, subject.warm_up)
    requests = subject.make(warm_up + count)
    gauge_before_s = _GAUGE.seconds(cores)
    begun, others_before = time.perf_counter(), others_s()
    load = send(subject.server.port, requests, warm_up=warm_up, limit_s=_LIMIT_S)
    others = max((others_s() - others_before) / (time.perf_counter() - begun), 0.0)
    return load, others, (gauge_before_s + _GAUGE.seconds(cores)) / 2


def _undisturbed(blocks: Sequence[_Block]) -> list[_Block]:
    return [block for block in blocks if not block.is_disturbed]


def _figures(subject: Subject, blocks: Sequence[_Block]) -> Figures:
    latencies = sorted(latency for block in blocks for latency in block.load.latencies)
    failures = [failure for block in blocks for failure in block.load.failures]
    return Figures(
        requests_per_s=statistics.median(block.load.rate for block in blocks),
        verifications_per_s=statistics.median(block.verifications_per_s for block in blocks),
        share=statistics.median(block.share for block in blocks),
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        peak_mb=subject.server.peak_bytes() / 1e6,
        requests=len(latencies),
        failures=len(failures),
        others=statistics.median(block.others for block in blocks),
        slowed=statistics.median(_GAUGE.slowed(block.gauge_s) for block in blocks),
        first_failure=failures[0].decode(errors="replace") if failures else "",
    )
