"""`python -m fuzz --minutes 10`: all parts, one after the other. Exit code 1 if anything was found."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fuzz.decoders import fuzz_decoders
from fuzz.delays import fuzz_delays
from fuzz.findings import Findings
from fuzz.mail_server import accepting_mail
from fuzz.policies import fuzz_policies
from fuzz.properties import fuzz_properties
from fuzz.requests import fuzz_requests
from keystead.storage.schema import migrate
from tests.support.databases import Database, PostgresDatabase, SqliteDatabase
from tests.support.issuers import taking_tokens
from tests.support.postgres import running_postgres
from tests.support.servers import Server, bootstrap_installation, running

PARTS = {"requests": 0.5, "decoders": 0.15, "policies": 0.1, "properties": 0.15, "delays": 0.1}
"""The share of the time that each part gets."""

OF_SERVERS = ("requests", "delays")
"""The parts that attack a server."""

STORES = ("sqlite", "postgres")
"""The databases of the servers that are attacked, one after the other."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Hostile input against Keystead.")
    parser.add_argument("--minutes", type=float, default=10, help="for all parts together (10)")
    parser.add_argument("--seed", type=int, default=None, help="the same choices again")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part alone, or these")
    parser.add_argument("--store", choices=STORES, action="append", help="this database alone (both)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where to keep what was found")
    asked = parser.parse_args(arguments)
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    parts = asked.part or list(PARTS)
    print(f"seed {seed}", flush=True)
    found = []
    for part in parts:
        stores = (asked.store or STORES) if part in OF_SERVERS else [None]
        seconds = 60 * asked.minutes * PARTS[part] / sum(PARTS[each] for each in parts) / len(stores)
        for store in stores:
            name = part if store is None else f"{part}-{store}"
            findings = Findings(asked.findings / f"{seed}-{name}")
            _run(part, store, findings, random.Random(f"{seed} {part}"), seconds)
            print(f"{name}: {findings.tried} tried, {len(findings.found)} found", flush=True)
            found += findings.found
    return 1 if found else 0


def _run(part: str, store: str | None, findings: Findings, chance: random.Random, seconds: float) -> None:
    until = time.monotonic() + seconds
    match part, store:
        case "decoders", None:
            for decoder in fuzz_decoders(findings, chance, until=until, limit=sys.maxsize):
                print(f"  {decoder.name}: slowest {decoder.slowest_s * 1_000:.1f} ms of processor time")
        case "policies", None:
            counts = fuzz_policies(findings, chance, until=until, limit=sys.maxsize)
            for what, count in counts.most_common():
                print(f"  {what}: {count}")
        case "properties", None:
            fuzz_properties(findings, chance, until=until)
        case "requests", str():
            with server_to_attack(store) as server:
                fuzz_requests(server, findings, chance, until=until, limit=sys.maxsize)
        case "delays", str():
            with server_to_attack(store) as server:
                for delay in fuzz_delays(server, findings, chance, until=until):
                    longest = delay.longest
                    waits = f"{longest.ms:.0f} ms ({longest.whole_ms:.0f} ms on the clock)"
                    answers = f"{delay.sent} sent, answered {sorted(delay.statuses)}"
                    print(f"  {delay.name}: {waits}; {answers}", flush=True)
        case _:
            raise AssertionError(part)


@contextmanager
def server_to_attack(store: str) -> Iterator[Server]:
    """A server process over a new database, with the default settings, that takes ID tokens and sends e-mails."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keystead-fuzz-")))
        mail = stack.enter_context(accepting_mail())
        installation = bootstrap_installation(_new_database(store, folder, stack))
        stack.callback(installation.database.close)
        yield stack.enter_context(running(installation, folder / "log", taking_tokens(folder) | mail))


def _new_database(store: str, folder: Path, stack: ExitStack) -> Database:
    if store == "sqlite":
        path = folder / "keystead.db"
        migrate(f"sqlite:///{path}")
        return SqliteDatabase(path)
    url = stack.enter_context(running_postgres(durable=True)).create_database()
    migrate(url)
    return PostgresDatabase(url)


if __name__ == "__main__":
    sys.exit(main())
