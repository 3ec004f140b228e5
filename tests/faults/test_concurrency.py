"""Many concurrent callers on one server and on two: nothing is lost, duplicated or stale."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.support.callers import Caller, answered, unique
from tests.support.load import NO_TAG_LIMIT, PATH, check_record, tag_body
from tests.support.servers import Installation, Server


def submissions(callers: list[Caller], each: int) -> list[tuple[bytes, str]]:
    """`each` by each caller, one after the other; the callers at once."""

    def submit(caller: Caller) -> list[tuple[bytes, str]]:
        bodies = [tag_body(caller) for _ in range(each)]
        return [(body, answered(caller.post(PATH, body))["activity"]["id"]) for body in bodies]

    with ThreadPoolExecutor(len(callers)) as threads:
        return [made for part in threads.map(submit, callers) for made in part]


def test_eight_threads(installation: Installation, start: Callable[..., Server]) -> None:
    caller = start(installation, **NO_TAG_LIMIT).caller
    made = submissions([caller] * 8, each=60)
    assert len(made) == 480
    check_record(installation.database, installation.organization_id, made)


def test_eight_threads_at_two_servers(installation: Installation, start: Callable[..., Server]) -> None:
    servers = [start(installation, **NO_TAG_LIMIT) for _ in range(2)]
    made = submissions([server.caller for server in servers] * 4, each=30)
    assert len(made) == 240
    check_record(installation.database, installation.organization_id, made)


def test_every_read_sees_every_acknowledged_write(installation: Installation, start: Callable[..., Server]) -> None:
    """Eight callers write at one server and read at the other, and the other way round."""
    one, other = (start(installation, **NO_TAG_LIMIT).caller for _ in range(2))

    def write_and_read(number: int) -> None:
        writer, reader = (one, other) if number % 2 else (other, one)
        for _ in range(4):
            wallet = writer.result("create_wallet", {"walletName": unique("wallet"), "accounts": []})
            assert wallet["walletId"] in [listed["walletId"] for listed in reader.asked("list_wallets")["wallets"]]
            user = writer.new_user()
            assert reader.with_key(user.key).asked("whoami")["userId"] == user.user_id
            made = writer.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": [user.user_id]})
            assert (
                reader.asked("get_activity", activityId=made["id"])["activity"]["fingerprint"]
                == made["fingerprint"]
            )
            assert len(reader.asked("get_user", userId=user.user_id)["user"]["userTags"]) == 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write_and_read, range(8)))
