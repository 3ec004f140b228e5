"""One measurement: blocks of requests between runs of `openssl speed`, and the figures of these blocks.

Two servers that are compared take turns within each block, so that other load on the machine affects both. Blocks
in which other programs used much of the machine, or in which the machine itself was slow, are repeated a bounded
number of times.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence, Set

import msgspec

from bench.load import Load, combined, send
from bench.processes import others_s, processor_s
from bench.server import Server
from bench.slowdown import Slowdown
from bench.verification_rate import verifications_per_s

DISTURBED = 0.1
"""A block is repeated if other programs used more of a core than this."""

SLOWED = 1.2
"""A block is repeated if the machine was slower than its best by more than this factor."""

_SLOWDOWN = Slowdown()

_PROBE = 400
"""Requests that measure roughly how fast a server is, to choose how many requests a block needs."""

_LIMIT_S = 60.0


class Pace(msgspec.Struct, frozen=True):
    """The number of blocks, the seconds of one, and how many more may replace disturbed ones (`spare`).

    `turns`: the number of parts of a block, between which the servers take turns.
    """

    blocks: int
    seconds: float
    spare: int
    turns: int = 1


class Subject(msgspec.Struct, frozen=True):
    """The measured servers, which share the requests evenly, and the function that makes requests.

    `warm_up`: the least number of requests before the measured ones.
    """

    make: Callable[[int], list[bytes]]
    servers: Sequence[Server]
    warm_up: int = 0

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self.servers]

    def processor_s(self) -> float:
        """Processor time that its servers have used, in seconds."""
        return sum(processor_s(server.pid) for server in self.servers)


class Figures(msgspec.Struct, frozen=True):
    """The medians of all blocks and of the verification rate; `share` is their ratio. Latencies are of all
    requests, in milliseconds. `processor_us` is the processor time of the servers' processes for one request, in
    microseconds; other programs change it less than the share.

    `others`: how much of a core other programs used. `slowed`: the time of the fixed work (`slowdown`)
    divided by its shortest time in this run.
    """

    requests_per_s: float
    verifications_per_s: float
    share: float
    p50_ms: float
    p99_ms: float
    processor_us: float
    peak_mb: float
    requests: int
    failures: int
    others: float
    slowed: float
    first_failure: str = ""


class _Block(msgspec.Struct, frozen=True):
    load: Load
    processor_us: float
    verifications_per_s: float
    others: float
    work_s: float

    @property
    def disturbance(self) -> float:
        """How disturbed a block was. It does not depend on the figures of the block."""
        return self.others + _SLOWDOWN.factor(self.work_s)

    @property
    def is_disturbed(self) -> bool:
        return self.others > DISTURBED or _SLOWDOWN.factor(self.work_s) > SLOWED


def measure(subjects: Sequence[Subject], cores: Set[int], pace: Pace) -> list[Figures]:
    """The figures of each subject, whose servers run on these cores."""
    turns = pace.turns if len(subjects) > 1 else 1
    counts = [max(int(_probe(subject) * pace.seconds / turns), 100) for subject in subjects]
    blocks: list[list[_Block]] = [[] for _ in subjects]
    before = verifications_per_s(cores)
    for number in range(pace.blocks + pace.spare):
        if number >= pace.blocks and all(len(_undisturbed(some)) >= pace.blocks for some in blocks):
            break
        loads, processor_us, others, work_s = _loaded(subjects, counts, turns, cores)
        after = verifications_per_s(cores)
        for load, used_us, some in zip(loads, processor_us, blocks, strict=True):
            some.append(_Block(load, used_us, (before + after) / 2, others, work_s))
        before = after
    return [
        _figures(subject, sorted(some, key=lambda block: block.disturbance)[: pace.blocks])
        for subject, some in zip(subjects, blocks, strict=True)
    ]


def _probe(subject: Subject) -> float:
    warm_up = max(_PROBE // 2, subject.warm_up)
    requests = subject.make(warm_up + _PROBE // 2)
    return send(subject.ports, requests, warm_up=warm_up, limit_s=_LIMIT_S).rate


def _loaded(
    subjects: Sequence[Subject], counts: Sequence[int], turns: int, cores: Set[int]
) -> tuple[list[Load], list[float], float, float]:
    """Send these numbers of requests to the subjects at each turn. Returns the loads, the processor time of a
    request to each subject in microseconds, how much of a core other programs used, and the seconds of the
    fixed work."""
    made = [
        [subject.make(count + count // 10) for _ in range(turns)]
        for subject, count in zip(subjects, counts, strict=True)
    ]
    loads: list[list[Load]] = [[] for _ in subjects]
    work_before_s = _SLOWDOWN.seconds(cores)
    used_s = [0.0] * len(subjects)
    begun, others_before = time.perf_counter(), others_s()
    for turn in range(turns):
        for number, (subject, count, requests) in enumerate(zip(subjects, counts, made, strict=True)):
            used_before_s = subject.processor_s()
            loads[number].append(send(subject.ports, requests[turn], warm_up=count // 10, limit_s=_LIMIT_S))
            used_s[number] += subject.processor_s() - used_before_s
    others = max((others_s() - others_before) / (time.perf_counter() - begun), 0.0)
    sent = [sum(map(len, requests)) for requests in made]
    processor_us = [used / count * 1e6 for used, count in zip(used_s, sent, strict=True)]
    return [combined(some) for some in loads], processor_us, others, (work_before_s + _SLOWDOWN.seconds(cores)) / 2


def _undisturbed(blocks: Sequence[_Block]) -> list[_Block]:
    return [block for block in blocks if not block.is_disturbed]


def _figures(subject: Subject, blocks: Sequence[_Block]) -> Figures:
    latencies = sorted(latency for block in blocks for latency in block.load.latencies)
    failures = [failure for block in blocks for failure in block.load.failures]
    rate = statistics.median(block.load.rate for block in blocks)
    verifications = statistics.median(block.verifications_per_s for block in blocks)
    return Figures(
        requests_per_s=rate,
        verifications_per_s=verifications,
        share=rate / verifications,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        processor_us=statistics.median(block.processor_us for block in blocks),
        peak_mb=sum(server.peak_bytes() for server in subject.servers) / 1e6,
        requests=len(latencies),
        failures=len(failures),
        others=statistics.median(block.others for block in blocks),
        slowed=statistics.median(_SLOWDOWN.factor(block.work_s) for block in blocks),
        first_failure=failures[0].decode(errors="replace") if failures else "",
    )
