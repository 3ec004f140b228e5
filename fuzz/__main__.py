"""`python -m fuzz --minutes 10`: all parts, one after the other. Exit code 1 if anything was found."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fuzz.decoders import fuzz_decoders
from fuzz.delays import fuzz_delays
from fuzz.findings import Findings
from fuzz.mail_server import accepting_mail
from fuzz.properties import fuzz_properties
from fuzz.requests import fuzz_requests
from keystead.storage.schema import migrate
from tests.support.databases import SqliteDatabase
from tests.support.issuers import taking_tokens
from tests.support.servers import Server, bootstrap_installation, running

PARTS = {"requests": 0.5, "decoders": 0.2, "properties": 0.2, "delays": 0.1}
"""The share of the time that each part gets."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Hostile input against Keystead.")
    parser.add_argument("--minutes", type=float, default=10, help="for all parts together (10)")
    parser.add_argument("--seed", type=int, default=None, help="the same choices again")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part alone, or these")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where to keep what was found")
    asked = parser.parse_args(arguments)
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    parts = asked.part or list(PARTS)
    print(f"seed {seed}", flush=True)
    found = []
    for part in parts:
        seconds = 60 * asked.minutes * PARTS[part] / sum(PARTS[each] for each in parts)
        findings = Findings(asked.findings / f"{seed}-{part}")
        _run(part, findings, random.Random(f"{seed} {part}"), seconds)
        print(f"{part}: {findings.tried} tried, {len(findings.found)} found", flush=True)
        found += findings.found
    return 1 if found else 0


def _run(part: str, findings: Findings, chance: random.Random, seconds: float) -> None:
    until = time.monotonic() + seconds
    match part:
        case "requests":
            with server_to_attack() as server:
                fuzz_requests(server, findings, chance, until=until, limit=sys.maxsize)
        case "decoders":
            for decoder in fuzz_decoders(findings, chance, until=until, limit=sys.maxsize):
                print(f"  {decoder.name}: slowest {decoder.slowest_s * 1_000:.1f} ms of processor time")
        case "properties":
            fuzz_properties(findings, chance, until=until)
        case "delays":
            with server_to_attack() as server:
                for delay in fuzz_delays(server, findings, chance, until=until):
                    longest = delay.longest
                    waits = f"{longest.ms:.0f} ms ({longest.whole_ms:.0f} ms on the clock)"
                    answers = f"{delay.sent} sent, answered {sorted(delay.statuses)}"
                    print(f"  {delay.case.name}: {waits}; {answers}", flush=True)
        case _:
            raise AssertionError(part)


@contextmanager
def server_to_attack() -> Iterator[Server]:
    """A server process over a new SQLite database, with the default settings, that takes ID tokens and
    sends e-mails."""
    with tempfile.TemporaryDirectory(prefix="keystead-fuzz-") as folder, accepting_mail() as mail:
        path = Path(folder) / "keystead.db"
        migrate(f"sqlite:///{path}")
        installation = bootstrap_installation(SqliteDatabase(path))
        try:
            with running(installation, Path(folder) / "log", taking_tokens(Path(folder)) | mail) as server:
                yield server
        finally:
            installation.database.close()


if __name__ == "__main__":
    sys.exit(main())
