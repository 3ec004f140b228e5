"""Secrets other than keys: how many there may be, and how many imports of them are open."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.errors import InvalidRequest, LimitReached
from keystead.organizations.kinds.secrets import Secrets
from keystead.organizations.limits import Limits
from tests.support.bundles import fresh, message, point
from tests.support.organization_fixtures import SECRET_SUITE
from tests.support.organization_harness import OrganizationHarness

PAYLOAD = message(b"x", point(fresh()))


def harness(**limits: int) -> OrganizationHarness:
    return OrganizationHarness("Root", root=["Root"], limits=Limits(**limits))


def begin(people: OrganizationHarness, count: int) -> None:
    people.submit("Root", "init_import_secrets", {"encryptionSuite": SECRET_SUITE, "numSecrets": count})


def params(people: OrganizationHarness, count: int) -> dict[str, Any]:
    """The import of `count` secrets, to the oldest open targets."""
    targets = sorted(people.organization.import_targets.values(), key=lambda target: target.id)[:count]
    return {
        "secrets": [
            {"secretPayload": PAYLOAD, "targetPublicKey": target.public_key, "encryptionSuite": SECRET_SUITE}
            for target in targets
        ]
    }


def test_at_most_so_many() -> None:
    people = harness(secrets=3)
    begin(people, 5)
    people.submit("Root", "import_secrets", params(people, 2))
    with pytest.raises(LimitReached, match="secrets: 2 of 3 are in use, 2 more"):
        people.submit("Root", "import_secrets", params(people, 2))
    people.submit("Root", "import_secrets", params(people, 1))
    assert len(people.organization.of(Secrets)) == 3
    assert len(people.organization.import_targets) == 2, "each import took its target away"


def test_the_limit_of_bytes_is_a_setting() -> None:
    people = harness(secret_bytes=0)
    begin(people, 1)
    with pytest.raises(InvalidRequest, match="a secret has at most 0 bytes, not 1"):
        people.submit("Root", "import_secrets", params(people, 1))


def test_the_oldest_target_gives_way() -> None:
    people = harness()
    for _ in range(2):
        begin(people, 10)
    oldest = params(people, 3)
    begin(people, 3)
    assert len(people.organization.import_targets) == 20
    with pytest.raises(InvalidRequest, match="none of the user's open imports has this key"):
        people.submit("Root", "import_secrets", oldest)
