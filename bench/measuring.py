"""One measurement: blocks of requests, each between two runs of the yardstick, and what they come to.

Where two servers are compared, their blocks take turns, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence, Set

import msgspec

from bench.load import Load, send
from bench.yardstick import verifications_per_s

_PROBE = 400
"""Requests that tell roughly how fast a server is, so that blocks last as long as they should."""


class Pace(msgspec.Struct, frozen=True):
    """How many blocks, and how long one lasts."""

    blocks: int
    seconds: float


class Subject(msgspec.Struct, frozen=True):
    """What is measured: how requests are made, where they go. `warm_up`: at least so many before the clock runs."""

    make: Callable[[int], list[bytes]]
    port: int
    peak_bytes: Callable[[], int]
    warm_up: int = 0


class Figures(msgspec.Struct, frozen=True):
    """The medians of all blocks; latencies of all their requests together, in milliseconds."""

    requests_per_s: float
    verifications_per_s: float
    share: float
    p50_ms: float
    p99_ms: float
    peak_mb: float
    requests: int
    failures: int


def measure(subjects: Sequence[Subject], cores: Set[int], pace: Pace) -> list[Figures]:
    """The figures of each subject, whose server runs on these cores."""
    counts = [max(int(_probe(subject) * pace.seconds), 100) for subject in subjects]
    loads: list[list[Load]] = [[] for _ in subjects]
    rates: list[list[float]] = [[] for _ in subjects]
    before = verifications_per_s(cores)
    for _ in range(pace.blocks):
        for subject, count, subject_loads, subject_rates in zip(subjects, counts, loads, rates, strict=True):
            warm_up = max(count // 10, subject.warm_up)
            requests = subject.make(warm_up + count)
            subject_loads.append(send(subject.port, requests, warm_up=warm_up, limit_s=60))
            after = verifications_per_s(cores)
            subject_rates.append((before + after) / 2)
            before = after
    return [
        _figures(subject_loads, subject_rates, subject)
        for subject_loads, subject_rates, subject in zip(loads, rates, subjects, strict=True)
    ]


def _probe(subject: Subject) -> float:
    return send(subject.port, subject.make(_PROBE), warm_up=_PROBE // 2, limit_s=60).rate


def _figures(loads: Sequence[Load], rates: Sequence[float], subject: Subject) -> Figures:
    latencies = sorted(latency for load in loads for latency in load.latencies)
    return Figures(
        requests_per_s=statistics.median(load.rate for load in loads),
        verifications_per_s=statistics.median(rates),
        share=statistics.median(load.rate / rate for load, rate in zip(loads, rates, strict=True)),
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        peak_mb=subject.peak_bytes() / 1e6,
        requests=len(latencies),
        failures=sum(load.failures for load in loads),
    )
