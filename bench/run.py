"""The complete run: databases, servers, and the figures that are measured.

Here: what is measured and compared. Not here: one measurement (`measuring`), the output (`report`).
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from bench.cases import CREATE_INTERFACE, LIST_WALLETS, SIGN_RAW_PAYLOAD, Case
from bench.contention import contended
from bench.cores import Cores, pinned
from bench.fairness import SETUPS, beside_a_flood
from bench.installation import Installation, new_installation
from bench.many_organizations import Tenant, new_tenants, write_organizations
from bench.measuring import Pace, Subject, measure
from bench.moto import moto_signing
from bench.organizations import Setup, of_ten
from bench.people import PersonCase, requests_of, write_people
from bench.results import COMPARED_LEAST, Baseline, Result, StoreName
from bench.server import Server, running
from bench.stamping import Stamping
from tests.support.postgres import PostgresServer, running_postgres

FEW = 1_000
"""A number of organizations that a server's cache holds easily."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure. `organizations`: how many the second database has besides the first one; 0: no second
    database. `people`: how many sub-organizations the database of `person_cases` has. `pace_of_all` is for all
    cores. `contention`: whether several servers are measured over PostgreSQL, and `processor_share`: each with this
    share of a processor. `fairness`: whether a quiet organization beside one that floods is."""

    stores: Sequence[StoreName]
    cases: Sequence[Case]
    person_cases: Sequence[PersonCase]
    worker_counts: Sequence[int]
    organizations: int
    people: int
    contention: bool
    processor_share: float | None
    fairness: bool
    pace: Pace
    pace_of_all: Pace


def run(plan: Plan, cores: Cores, say: Callable[[str], None]) -> Iterator[Result]:
    """Everything in the plan, one result after the other. This process must be on the load's core."""
    tenants = new_tenants(plan.organizations)
    if SIGN_RAW_PAYLOAD in plan.cases:
        yield _of_peer(plan, {cores.server})
    for store in plan.stores:
        with _databases(store) as databases:
            say(f"preparing {store}")
            setups = [each for case in plan.cases for each in case.setups]
            one = new_installation(databases.new(), databases.folder / "one", {cores.server}, setups)
            many = None
            if tenants and any(case.everywhere for case in plan.cases):
                setups = [each for case in plan.cases if case.everywhere for each in case.setups]
                many = new_installation(databases.new(), databases.folder / "many", {cores.server}, setups)
                write_organizations(many, tenants)
            for workers in plan.worker_counts if store == "postgres" else [1]:
                alone = workers == 1
                places: Set[int] = {cores.server} if alone else cores.all
                databases.move({cores.load} if alone else cores.all)
                for case in plan.cases:
                    if case.smaller is not None:
                        if alone:
                            yield from _small_and_large(plan, store, case, case.smaller, one, places)
                    elif case.everywhere or case.on_all_cores or alone:
                        among = (one,) if many is None or not case.everywhere else (one, many)
                        yield from _compared(plan, store, workers, case, among, len(tenants), places)
                if many is not None and alone and LIST_WALLETS in plan.cases:
                    yield from _spread(plan, store, many, tenants, places)
            if plan.person_cases:
                yield from _of_people(plan, store, databases, cores)
            if plan.fairness:
                databases.move({cores.load})
                floods = new_installation(databases.new(), databases.folder / "flood", {cores.server}, SETUPS)
                yield from beside_a_flood(store, floods, {cores.server}, plan.pace.blocks)
            if store == "postgres" and plan.contention:
                databases.move(cores.all)
                of_several = databases.folder / "several"
                setup = CREATE_INTERFACE.setup
                several = new_installation(databases.new(), of_several, cores.all, [setup])
                yield from contended(several, cores.all, plan.pace, plan.processor_share)


def _of_peer(plan: Plan, places: Set[int]) -> Result:
    """The figures of moto on the same machine: one key, one process, nothing stored."""
    with (
        tempfile.TemporaryDirectory(prefix="keystead-bench-") as folder,
        moto_signing(Path(folder), places) as subject,
    ):
        (figures,) = measure([subject], places, plan.pace)
    return Result(case="moto KMS Sign", store="memory", workers=1, organizations=1, figures=figures)


def _compared(
    plan: Plan,
    store: StoreName,
    workers: int,
    case: Case,
    installations: Sequence[Installation],
    organizations: int,
    places: Set[int],
) -> Iterator[Result]:
    """One case on the same organization, alone in its database and among many."""
    pace = plan.pace if workers == 1 else plan.pace_of_all
    with ExitStack() as stack:
        subjects = []
        for installation in installations:
            settings = {**installation.settings, "KEYSTEAD_WORKERS": str(workers)}
            server = stack.enter_context(running(settings, installation.folder, places))
            stamping = Stamping(case, installation.organizations[case.setup], server.base_url)
            subjects.append(Subject(stamping.requests, [server]))
        baseline = None
        for figures, others in zip(measure(subjects, places, pace), (0, organizations), strict=False):
            yield Result(
                case=case.name,
                store=store,
                workers=workers,
                organizations=1 + others,
                asked=installations[0].organizations[case.setup].holds,
                figures=figures,
                baseline=baseline,
            )
            baseline = Baseline("one organization alone", figures.share, COMPARED_LEAST if workers == 1 else None)


def _small_and_large(
    plan: Plan, store: StoreName, case: Case, smaller: Setup, installation: Installation, places: Set[int]
) -> Iterator[Result]:
    """One case on a small and on a large organization of one server, in turns."""
    organizations = [installation.organizations[setup] for setup in (smaller, case.setup)]
    with running(installation.settings, installation.folder, places) as server:
        subjects = [
            Subject(Stamping(case, organization, server.base_url).requests, [server])
            for organization in organizations
        ]
        baseline = None
        for organization, figures in zip(organizations, measure(subjects, places, plan.pace), strict=True):
            yield Result(
                case=case.name,
                store=store,
                workers=1,
                organizations=1,
                asked=organization.holds,
                figures=figures,
                baseline=baseline,
            )
            baseline = Baseline(organization.holds, figures.share)


def _spread(
    plan: Plan, store: StoreName, installation: Installation, tenants: Sequence[Tenant], places: Set[int]
) -> Iterator[Result]:
    """list_wallets of many organizations in turn: of a few that stay in the cache, and of all of them."""
    chance = random.Random(1)
    with ExitStack() as stack:
        subjects = []
        few = tenants[:FEW]
        for chosen, warm_up in ((few, 3 * len(few)), (tenants, 0)):
            server = stack.enter_context(running(installation.settings, installation.folder, places))
            organization = installation.organizations[LIST_WALLETS.setup]
            stamping = Stamping(LIST_WALLETS, organization, server.base_url)

            def make(count: int, stamping: Stamping = stamping, chosen: Sequence[Tenant] = chosen) -> list[bytes]:
                return stamping.requests_of(chance.choices(chosen, k=count))

            subjects.append(Subject(make, [server], warm_up))
        asked = (f"of {len(few):,} organizations", f"of all {len(tenants):,}")
        for figures, which in zip(measure(subjects, places, plan.pace), asked, strict=True):
            yield Result(
                case=LIST_WALLETS.name,
                store=store,
                workers=1,
                organizations=1 + len(tenants),
                asked=which,
                figures=figures,
            )


def _of_people(plan: Plan, store: StoreName, databases: _Databases, cores: Cores) -> Iterator[Result]:
    """Each case of one of very many sub-organizations, drawn at random for each request."""
    databases.move({cores.load})
    installation = new_installation(databases.new(), databases.folder / "people", {cores.server}, [of_ten])
    parent_id = installation.organizations[of_ten].id
    people = write_people(installation, parent_id, plan.people)
    chance = random.Random(2)
    for workers in plan.worker_counts if store == "postgres" else [1]:
        alone = workers == 1
        places: Set[int] = {cores.server} if alone else cores.all
        databases.move({cores.load} if alone else cores.all)
        settings = {**installation.settings, "KEYSTEAD_WORKERS": str(workers)}
        for case in plan.person_cases:
            with running(settings, installation.folder, places) as server:

                def make(count: int, case: PersonCase = case, server: Server = server) -> list[bytes]:
                    return requests_of(case, chance.choices(people, k=count), parent_id, server.base_url)

                (figures,) = measure([Subject(make, [server])], places, plan.pace if alone else plan.pace_of_all)
            yield Result(
                case=case.name,
                store=store,
                workers=workers,
                organizations=1 + len(people),
                asked=f"of all {len(people):,}",
                figures=figures,
            )


class _Databases:
    """Makes the databases of a store, and moves its server, if it has one, between cores."""

    def __init__(self, folder: Path, postgres: PostgresServer | None) -> None:
        self.folder = folder
        self._postgres = postgres
        self._made = 0

    def new(self) -> str:
        """The URL of an empty database."""
        if self._postgres is not None:
            return self._postgres.create_database()
        self._made += 1
        return f"sqlite:///{self.folder / f'{self._made}.db'}"

    def move(self, places: Set[int]) -> None:
        """Restart the database server on these cores."""
        if self._postgres is not None:
            self._postgres.stop()
            with pinned(places):
                self._postgres.start()


@contextmanager
def _databases(store: StoreName) -> Iterator[_Databases]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keystead-bench-")))
        postgres = stack.enter_context(running_postgres(durable=True)) if store == "postgres" else None
        yield _Databases(folder, postgres)
