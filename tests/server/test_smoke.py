from tests.callers import Caller
def test_it(caller: Caller) -> None:
    assert caller.asked("whoami")["userId"] == caller.user_id
    user = caller.new_user()
    assert user.asked("whoami")["userId"] == user.user_id
