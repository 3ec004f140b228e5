"""The cache of compiled policies: what is compiled again, what is dropped, and that other requests run
meanwhile."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.records import MfaPolicy, Policy, Timestamp, User
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Version, from_records
from keystead.pipeline import policy_set_cache
from keystead.pipeline.policy_set_cache import PolicySetCache
from keystead.policies.language.expression import CompiledExpression, ExpressionSource, compile_stored
from keystead.primitives.share import Share
from tests.support.policy_fixtures import ANA, allow

NOW = Timestamp.from_ms(0)


def in_event_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **fixtures: Any) -> None:
        asyncio.run(test(*args, **fixtures))

    return run


def organization(*policies: Policy, id_: str = "O") -> Organization:
    records = [replace(policy, policy_id=policy.policy_id or policy.condition) for policy in policies]
    profile = Profile(name="O", root_quorum=RootQuorum(1, ("R",)), created_at=NOW)
    return from_records(id_, Version(1, "x"), [profile, SealedDataKey(Sealed("", b"")), *records])


def about(wallet: str) -> Policy:
    return allow(f"wallet.id == '{wallet}'")


def mfa_user(condition: str) -> User:
    policy = MfaPolicy(
        mfa_policy_id="M",
        mfa_policy_name="M",
        condition=condition,
        required_authentication_methods=(),
        order=0,
        notes=None,
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(ANA, mfa_policies=(policy,))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were compiled, in order."""
    texts: list[str] = []

    def counting(source: ExpressionSource) -> CompiledExpression:
        texts.append(source.text)
        return compile_stored(source)

    monkeypatch.setattr(policy_set_cache, "compile_stored", counting)
    return texts


@in_event_loop
async def test_a_version_is_compiled_once(compiled: list[str]) -> None:
    sets, one = PolicySetCache(), organization(about("A"), about("B"))
    first = await sets.of(one)
    assert await sets.of(replace(one, version=Version(2, "y"))) is first
    assert len(compiled) == 2
    assert (sets.hits, sets.misses) == (1, 1)


@in_event_loop
async def test_a_change_compiles_changed_expressions_and_drops_removed_ones(compiled: list[str]) -> None:
    sets = PolicySetCache()
    await sets.of(organization(about("A"), about("B")))
    before = sets.characters
    changed = await sets.of(organization(about("B"), about("C")))
    assert compiled[2:] == ["wallet.id == 'C'"]
    assert sets.characters == before
    assert [policy.condition.source.text for policy in changed.policy_set.policies if policy.condition] == [
        "wallet.id == 'B'",
        "wallet.id == 'C'",
    ]
    await sets.of(organization(about("A")))
    assert compiled[3:] == ["wallet.id == 'A'"]


@in_event_loop
async def test_the_least_recently_used_entry_is_dropped_first(compiled: list[str]) -> None:
    each = 100 + len("wallet.id == 'A'")
    sets = PolicySetCache(characters_max=2 * each)
    first, second, third = (organization(about("A"), id_=id_) for id_ in "123")
    await sets.of(first)
    await sets.of(second)
    await sets.of(first)
    await sets.of(third)
    assert sets.characters == 2 * each
    compiled.clear()
    await sets.of(first)
    await sets.of(third)
    assert compiled == []
    await sets.of(second)
    assert len(compiled) == 1


@in_event_loop
async def test_an_organization_that_does_not_fit_is_compiled_each_time(compiled: list[str]) -> None:
    sets, one = PolicySetCache(characters_max=50), organization(about("A"))
    for _ in range(2):
        assert len((await sets.of(one)).policy_set.policies) == 1
    assert (len(compiled), sets.characters) == (2, 0)


@in_event_loop
async def test_mfa_conditions_are_cached_with_the_policies(compiled: list[str]) -> None:
    sets, one = PolicySetCache(), organization(about("A"))
    user, other = mfa_user("activity.action == 'SIGN'"), mfa_user("activity.action == 'EXPORT'")
    plain = await sets.of(one)
    for asked in (user, other, user):
        found = await sets.of(one, (asked,))
        assert found.policy_set is plain.policy_set
        assert asked.mfa_policies[0].condition in found.mfa_conditions
    assert len(compiled) == 3
    changed = await sets.of(organization(about("B")), (user,))
    assert set(changed.mfa_conditions) == {"activity.action == 'SIGN'"}


@in_event_loop
async def test_concurrent_requests_share_the_compilation_of_equal_policies(compiled: list[str]) -> None:
    long = [about("A" * 1_500 + str(number)) for number in range(10)]
    one = organization(*[replace(each, policy_id=str(n)) for n, each in enumerate(long)])
    sets = PolicySetCache()
    found = await asyncio.gather(*(sets.of(one) for _ in range(4)))
    assert len(compiled) == len(one.policies)
    assert all(len(each.policy_set.policies) == len(one.policies) for each in found)


@in_event_loop
async def test_many_short_policies_are_not_compiled_without_a_pause(compiled: list[str]) -> None:
    """Compiling takes 2 ms for each policy. After a slice of the processor, other tasks run in between."""
    short = [replace(about(str(number)), policy_id=str(number)) for number in range(20)]
    seconds = 0.0

    def processor_s() -> float:
        return seconds + 0.002 * len(compiled)

    compiling = asyncio.ensure_future(
        PolicySetCache(share=Share(processor_s, processor_s)).of(organization(*short))
    )
    await asyncio.sleep(0)
    assert 0 < len(compiled) < len(short)
    assert len((await compiling).policy_set.policies) == len(compiled) == len(short)


@in_event_loop
async def test_versions_that_are_compiled_at_the_same_time_keep_their_own_policies() -> None:
    sets, one, two = PolicySetCache(), organization(about("A")), organization(about("B"))
    users = [mfa_user(f"activity.action == '{letter * 2_000}'") for letter in "XY"]
    await sets.of(one)
    both = await asyncio.gather(sets.of(one, users), sets.of(two))
    for compiled, letter in (*zip(both, "AB", strict=True), (await sets.of(one, users), "A")):
        (policy,) = compiled.policy_set.policies
        assert policy.condition is not None
        assert policy.condition.source.text == f"wallet.id == '{letter}'"
