"""`python -m bench`: measure this machine, print a table, say which targets were reached."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import figures
from bench.cases import CASES
from bench.cores import cores_here, machine, pinned
from bench.failure import BenchFailure
from bench.measuring import Pace
from bench.people import PERSON_CASES
from bench.processes import exit_on_sigterm
from bench.report import HEADER, row, verdicts, write_json
from bench.run import Plan, run
from bench.verification_rate import openssl_version

ORGANIZATIONS = 100_000

FEW_PEOPLE = 200
"""Sub-organizations of people in a quick run."""

CONTENTION, FAIRNESS = "contention", "fairness"
"""What `--only` calls the measurements of several servers, and of an organization beside one that floods."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 if everything was measured and every request answered, whether or not targets were reached."""
    asked = _parser().parse_args(arguments)
    exit_on_sigterm()
    try:
        cores = cores_here()
        facts = {**machine(), "openssl": openssl_version()}
        for name, fact in facts.items():
            print(f"{name}: {fact}")
        print(f"\n{HEADER}", flush=True)
        results = []
        with pinned({cores.load}):
            for result in run(_plan(asked, len(cores.all)), cores, _say):
                print(row(result), flush=True)
                if result.figures.failures:
                    _say(f"not every answer was 200: {result.figures.first_failure}")
                results.append(result)
    except BenchFailure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    print("", *verdicts(results), sep="\n")
    if asked.json:
        write_json(asked.json, facts, results)
    if asked.figures:
        asked.figures.mkdir(parents=True, exist_ok=True)
        write_json(asked.figures / figures.SOURCE, facts, results)
        figures.main(asked.figures)
    return 1 if any(result.figures.failures for result in results) else 0


def _plan(asked: argparse.Namespace, cores: int) -> Plan:
    quick = asked.quick
    return Plan(
        stores=asked.store or ["sqlite", "postgres"],
        cases=[CASES[name] for name in asked.only or CASES if name in CASES],
        person_cases=[case for name, case in PERSON_CASES.items() if name in (asked.only or PERSON_CASES)],
        worker_counts=[1] if quick else [1, cores],
        organizations=0 if quick else asked.organizations,
        people=FEW_PEOPLE if quick else asked.organizations or FEW_PEOPLE,
        contention=asked.only is None or CONTENTION in asked.only,
        processor_share=asked.processor_share,
        fairness=asked.only is None or FAIRNESS in asked.only,
        pace=Pace(blocks=2, seconds=1.0, spare=2) if quick else Pace(blocks=4, seconds=1.2, spare=4, turns=4),
        pace_of_all=Pace(blocks=1, seconds=2.0, spare=2, turns=4),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Keystead on this machine.")
    parser.add_argument("--quick", action="store_true", help="one worker, one organization, two short blocks each")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*CASES, *PERSON_CASES, CONTENTION, FAIRNESS],
        help="a case; may be given more than once",
    )
    parser.add_argument("--store", action="append", choices=["sqlite", "postgres"], help="both unless one is given")
    parser.add_argument(
        "--organizations",
        type=int,
        default=ORGANIZATIONS,
        help="how many the second database has, and how many people log in; 0: no second database, few people",
    )
    parser.add_argument(
        "--processor-share",
        type=float,
        help="of contention: hold each server to this share of a processor, such as 0.2; for root on Linux",
    )
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    parser.add_argument("--figures", type=Path, help="a folder for the figures as JSON and as plots (SVG)")
    return parser


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


sys.exit(main())
