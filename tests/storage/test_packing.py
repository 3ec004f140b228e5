"""Long texts in the database: smaller, and read back as they were."""

from __future__ import annotations

import asyncio
import json
import secrets

import lz4.frame
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.organizations.attachments import InterfaceText
from keystead.pipeline.store import CommitOutcome
from keystead.storage.packing import PACKED_FROM, packed, unpacked
from tests.storage.conftest import opened
from tests.support.commit_history import new_history
from tests.support.commit_samples import a_user, a_vote

FRAME = lz4.frame.compress(b"")[:4]
TEXTS = st.builds(
    lambda part, times, end: part * times + end,
    st.binary(max_size=40),
    st.integers(0, 200),
    st.binary(max_size=2 * PACKED_FROM),
)


@given(TEXTS)
@example(b"")
@example(b"x" * (PACKED_FROM - 1))
@example(b"x" * PACKED_FROM)
@example(FRAME)
@example(FRAME + b"no frame at all")
@example(lz4.frame.compress(b"a frame that somebody sent"))
def test_a_text_is_read_back(text: bytes) -> None:
    assert unpacked(packed(text)) == text


SIZES = [
    pytest.param(b"{}", 2, id="a short one stays as it is"),
    pytest.param(json.dumps([{"name": f"f{n}", "inputs": []} for n in range(200)]).encode(), 2_500, id="an ABI"),
    pytest.param(secrets.token_bytes(400_000), 400_100, id="noise takes hardly more"),
]


@pytest.mark.parametrize(("text", "most"), SIZES)
def test_room_that_a_text_takes(text: bytes, most: int) -> None:
    assert len(packed(text)) <= most


@pytest.mark.parametrize("damaged", [FRAME, FRAME + bytes(20), packed(b"x" * 5_000)[:-1]])
def test_what_is_no_frame_is_no_text(damaged: bytes) -> None:
    with pytest.raises(RuntimeError):
        unpacked(damaged)


def test_long_texts_are_read_back_by_another_process(database: str) -> None:
    """An activity's request, what another voter signed, a contract's interface."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            step = history.step(padding=3 * PACKED_FROM)
            assert step.activity is not None and step.change is not None
            vote = a_vote(step.activity.id, a_user("Eda"), json.dumps(["so"] * PACKED_FROM).encode())
            activity = replace(step.activity, votes=(*step.activity.votes, vote))
            assert len(activity.request) > PACKED_FROM
            assert await store.commit(replace(step, activity=activity)) is CommitOutcome.COMMITTED
            assert await other.activity(history.head.id, activity.id) == activity
            (text,) = [one for one in step.change.attachments if isinstance(one, InterfaceText)]
            assert len(text.text) > PACKED_FROM
            assert await other.interface_text(history.head.id, text.contract_interface_id) == text.text
            assert (await other.interface_texts(history.head.id))[text.contract_interface_id] == text.text
            found = await other.interface_texts_of(history.head.id, [text.contract_interface_id])
            assert found == {text.contract_interface_id: text.text}

    asyncio.run(run())
