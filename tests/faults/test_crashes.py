"""kill -9 under load, again and again: whatever was acknowledged is there, whatever was not can be sent again."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.callers import answered
from tests.support.load import NO_TAG_LIMIT, PATH, Load, check_record, integrity
from tests.support.servers import Installation, Server


def test_kill_in_a_loop(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation, **NO_TAG_LIMIT)
    load = Load([server.caller])
    for _ in range(3):
        with load:
            load.wait_for(40)
            server.kill()
        server.start()
        load.send_unanswered_again(server.caller)
    assert load.refused == []
    assert integrity(installation.database) == [("ok",)]
    check_record(installation.database, installation.organization_id, load.acknowledged)
    for body, activity_id in load.acknowledged[:: len(load.acknowledged) // 20]:
        assert answered(server.caller.post(PATH, body))["activity"]["id"] == activity_id
        assert server.caller.asked("get_activity", activityId=activity_id)["activity"]["id"] == activity_id


def test_kill_one_of_two(installation: Installation, start: Callable[..., Server]) -> None:
    """The other goes on, and does not wait for what the dead one held."""
    dying, living = (start(installation, **NO_TAG_LIMIT) for _ in range(2))
    lasting, cut_off = Load([living.caller], threads=4), Load([dying.caller], threads=4)
    with lasting:
        with cut_off:
            cut_off.wait_for(60)
            dying.kill()
        lasting.wait_for(20)
    cut_off.send_unanswered_again(living.caller)
    assert (lasting.unanswered, lasting.refused, cut_off.refused) == ([], [], [])
    check_record(installation.database, installation.organization_id, lasting.acknowledged + cut_off.acknowledged)
