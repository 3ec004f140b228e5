"""Which API key a new one replaces, and when none can be replaced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.api.enums import CredentialType
from keystead.api.errors import LimitReached
from keystead.api.records import ApiKey, Credential, Timestamp
from keystead.organizations.credentials.api_keys import with_api_keys
from keystead.organizations.limits import Limits

NOW_MS = 1_000_000
LIMITS = Limits(long_lived_api_keys_per_user=2, expiring_api_keys_per_user=3)


def key(name: str, age_s: int = 0, lasts_s: int | None = None) -> ApiKey:
    at = Timestamp.from_ms(NOW_MS - age_s * 1000)
    return ApiKey(
        credential=Credential(public_key=name, type=CredentialType.API_KEY_P256),
        api_key_id=name,
        api_key_name=name,
        created_at=at,
        updated_at=at,
        expiration_seconds=None if lasts_s is None else str(lasts_s),
    )


L1, L2, L3 = key("L1", 50), key("L2"), key("L3")
OLD, MIDDLE, YOUNG = key("old", 30, 900), key("middle", 20, 900), key("young", 10, 900)
EXPIRED, EXPIRED_EARLIER = key("expired", 15, 10), key("expired earlier", 40, 10)
JUST_EXPIRED, ABOUT_TO = key("just expired", 5, 5), key("about to", 4, 5)
NEW, NEWER = key("new", 0, 900), key("newer", 0, 900)

CASES: dict[str, tuple[list[ApiKey], list[ApiKey], list[ApiKey] | None]] = {
    "room": ([L1, OLD], [NEW], [L1, OLD, NEW]),
    "room for a lasting one": ([L1, OLD, MIDDLE, YOUNG], [L2], [L1, OLD, MIDDLE, YOUNG, L2]),
    "no room for a lasting one": ([L1, L2], [L3], None),
    "a lasting one takes no expiring one's place": ([L1, L2, OLD], [L3], None),
    "two lasting ones, room for one": ([L1], [L2, L3], None),
    "the oldest goes": ([YOUNG, OLD, MIDDLE], [NEW], [YOUNG, MIDDLE, NEW]),
    "an expired one goes first, whatever its age": ([OLD, EXPIRED, MIDDLE], [NEW], [OLD, MIDDLE, NEW]),
    "of the expired, the oldest": ([EXPIRED, EXPIRED_EARLIER, OLD], [NEW], [EXPIRED, OLD, NEW]),
    "expired to the millisecond": ([OLD, JUST_EXPIRED, ABOUT_TO], [NEW], [OLD, ABOUT_TO, NEW]),
    "two at once": ([OLD, MIDDLE, YOUNG], [NEW, NEWER], [YOUNG, NEW, NEWER]),
    "more at once than there may be": ([OLD], [NEW, NEWER, MIDDLE, YOUNG], [NEW, NEWER, YOUNG]),
    "lasting ones are never evicted": ([L1, L2, OLD, MIDDLE, YOUNG], [NEW], [L1, L2, MIDDLE, YOUNG, NEW]),
}


@pytest.mark.parametrize(("held", "added", "kept"), CASES.values(), ids=CASES.keys())
def test_case(held: list[ApiKey], added: list[ApiKey], kept: list[ApiKey] | None) -> None:
    if kept is None:
        with pytest.raises(LimitReached, match="maximum long-lived api keys"):
            with_api_keys(held, added, LIMITS, NOW_MS)
    else:
        assert with_api_keys(held, added, LIMITS, NOW_MS) == tuple(kept)


def test_none_allowed() -> None:
    with pytest.raises(LimitReached, match="short-lived"):
        with_api_keys([L1], [NEW], Limits(expiring_api_keys_per_user=0), NOW_MS)


keys = st.builds(key, st.uuids().map(str), st.integers(0, 100), st.one_of(st.none(), st.integers(1, 100)))


@given(held=st.lists(keys, max_size=5), added=st.lists(keys, max_size=5))
def test_whatever_comes(held: list[ApiKey], added: list[ApiKey]) -> None:
    lasting = [one for one in held if one.expiration_seconds is None][:2]
    expiring = [one for one in held if one.expiration_seconds is not None][:3]
    try:
        kept = with_api_keys([*lasting, *expiring], added, LIMITS, NOW_MS)
    except LimitReached:
        assert len(lasting) + sum(one.expiration_seconds is None for one in added) > 2
        return
    assert set(kept) <= {*lasting, *expiring, *added}
    assert {one for one in (*lasting, *added) if one.expiration_seconds is None} <= set(kept)
    assert sum(one.expiration_seconds is not None for one in kept) <= 3
