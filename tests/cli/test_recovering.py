"""`keystead recover`, over both databases: while a server runs, while none runs, against its writes, and killed."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.cli.failure import Failure
from keystead.cli.operator import recovering
from keystead.keys import master_key
from keystead.keys.sealing import MasterKey
from keystead.pipeline.decide import OPERATOR_RULE
from keystead.server.installation.checking import check_installation
from keystead.server.installation.recovery import recover as real_recover
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from keystead.storage.errors import unavailable
from keystead.storage.store import DatabaseStore
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, answered, refusal, unique
from tests.support.commands import run_keystead, start_keystead
from tests.support.hanging import PATIENCE_S
from tests.support.login_wallets import new_wallet, wallet_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import Installation, Server, bootstrap_installation, running
from tests.support.terminal import Terminal
from tests.support.webhook_receiver import receiving

TYPE = "ACTIVITY_TYPE_RECOVER_ORGANIZATION"
NOWHERE = {"rules": [{"cidr": "192.0.2.0/24"}], "enabled": True}


@dataclass(frozen=True)
class Operator:
    """Has the database and the master key, and a folder for the files of commands."""

    server: Server
    folder: Path

    @property
    def installation(self) -> Installation:
        return self.server.installation

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")}
        return {
            **inherited,
            "KEYSTEAD_DATABASE_URL": self.installation.database.url,
            "KEYSTEAD_MASTER_KEY": self.installation.master_key.secret_text(),
        }

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **variables}
        return run_keystead("recover", *words, environment=environment, cwd=self.folder)

    def recover(self, *words: str) -> str:
        """The id of the activity of a recovery that must succeed."""
        done = self.run(*words, "--yes")
        assert done.returncode == 0, done.stderr
        line = next(line for line in done.stdout.splitlines() if line.startswith("Done: activity "))
        return line.split()[2].rstrip(",")

    def new_caller(self, file: str) -> Caller:
        written = json.loads((self.folder / file).read_text())
        pair = ApiKeyPair(written["apiPublicKey"], written["apiPrivateKey"])
        return replace(self.root, key=pair, organization_id=written["organizationId"], user_id=written["userId"])

    @property
    def root(self) -> Caller:
        return self.server.caller

    def problems(self) -> list[str]:
        """What a check of the database finds."""
        problems: list[str] = []

        async def check(store: DatabaseStore) -> None:
            master = self.installation.master_key
            await check_installation(store, master, problem=problems.append, progress=lambda _: None)

        self.installation.database.with_store(check)
        return problems


@pytest.fixture
def operator(make_database: MakeDatabase, tmp_path: Path) -> Iterator[Operator]:
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path / "log", {"webhook_networks": "127.0.0.0/8"}) as server:
        yield Operator(server, tmp_path)
    installation.database.close()


def test_an_allow_list_is_lifted_while_a_server_runs(operator: Operator) -> None:
    root = operator.root
    root.submitted("set_ip_allowlist", NOWHERE)
    status, message = refusal(root.ask("list_wallets"))
    assert (status, message.endswith("lifts it: keystead recover ip-allowlist")) == (403, True)
    activity_id = operator.recover("ip-allowlist")
    allowlist = root.asked("get_ip_allowlist")["allowlist"]  # the next request
    assert (allowlist["enabled"], len(allowlist["rules"])) == (False, 1)
    (activity,) = root.asked("list_activities", SDK_FORM, filterByType=[TYPE])["activities"]
    assert (activity["id"], activity["type"], activity["votes"]) == (activity_id, TYPE, [])
    assert activity["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert activity["intent"] == {"recoverOrganizationIntent": {"liftIpAllowlist": True}}
    assert (activity["canApprove"], activity["canReject"]) == (False, False)
    (evaluation,) = root.asked("get_policy_evaluations", activityId=activity_id)["policyEvaluations"]
    assert (evaluation["verdict"], evaluation["rule"]) == ("allow", OPERATOR_RULE)
    wait_for_log_line(operator.server, "its IP allow-list is no longer enforced")
    assert operator.problems() == []
    again = operator.run("ip-allowlist", "--yes")
    assert (again.returncode, "enforces no IP allow-list" in again.stderr) == (1, True)


def wait_for_log_line(server: Server, text: str) -> None:
    """Exactly one line of the server's log says it, as a warning."""
    deadline = time.monotonic() + PATIENCE_S
    while not (lines := [line for line in server.log_lines() if text in line["event"]]):
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.05)
    assert [line["level"] for line in lines] == ["warning"]
    assert lines[0]["organization_id"] == server.installation.organization_id


def test_a_lost_credential_is_replaced(operator: Operator) -> None:
    """The user had a passkey and an MFA policy that asks for it. Nothing of what was lost works afterwards."""
    root, passkey = operator.root, SoftPasskey()
    other = root.new_user()
    root.submitted("create_authenticators", {"userId": root.user_id, "authenticators": [passkey.params()]})
    policy = {
        "userId": root.user_id,
        "mfaPolicyName": "passkey",
        "condition": "true",
        "requiredAuthenticationMethods": [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]}],
        "order": 1,
    }
    root.submitted("create_mfa_policy", policy)
    done = operator.run("credential", "--lost", "all", "--credentials", "new.json", "--yes")
    assert done.returncode == 0, done.stderr
    file = operator.folder / "new.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert operator.new_caller("new.json").key.private_key not in done.stdout + done.stderr
    assert refusal(root.ask("whoami"))[0] == 401
    body = root.query_body()
    assert root.http.post("/public/v1/query/whoami", content=body, headers=passkey.stamp(body)).status_code == 401
    recovered = operator.new_caller("new.json")
    recovered.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    (user,) = [each for each in recovered.asked("list_users")["users"] if each["userId"] == root.user_id]
    assert (len(user["apiKeys"]), user["authenticators"], user["mfaPolicies"]) == (1, [], [])
    assert other.ask("whoami").status_code == 200
    assert operator.problems() == []


def test_only_what_is_lost_is_removed(operator: Operator) -> None:
    """And the new key may be of a pair that was made elsewhere."""
    root, pair = operator.root, generate_api_key()
    kept = generate_api_key()
    keys = [{"apiKeyName": "backend", "publicKey": kept.public_key, "curveType": "API_KEY_CURVE_P256"}]
    (kept_id,) = root.result("create_api_keys", {"userId": root.user_id, "apiKeys": keys})["apiKeyIds"]
    (lost_id,) = [each["apiKeyId"] for each in root.asked("get_api_keys")["apiKeys"] if each["apiKeyId"] != kept_id]
    operator.recover("credential", "--lost", lost_id, "--api-public-key", pair.public_key, "--api-key-name", "new")
    assert root.ask("whoami").status_code == 401
    for key in (kept, pair):
        assert replace(root, key=key).ask("whoami").status_code == 200


def test_a_quorum_that_cannot_be_reached(operator: Operator) -> None:
    root = operator.root
    gone = [root.new_user().user_id for _ in range(2)]
    root.submitted("update_root_quorum", {"threshold": 3, "userIds": [root.user_id, *gone]})
    waiting = answered(root.submit("update_organization_name", {"organizationName": "New"}))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    operator.recover("quorum", "--threshold", "1", "--member", root.user_id)
    root.submitted("update_organization_name", {"organizationName": "Newer"})
    quorum = root.asked("get_organization_configs")["configs"]["quorum"]
    assert quorum == {"threshold": 1, "userIds": [root.user_id]}


def test_while_no_server_runs(operator: Operator) -> None:
    """Its webhook is sent, and its line logged, by the next server that starts."""
    with receiving() as receiver:
        subscriptions = [{"eventType": "ACTIVITY_UPDATES"}]
        endpoint = {"url": receiver.url, "name": "endpoint", "subscriptions": subscriptions}
        operator.root.submitted("create_webhook_endpoint", endpoint)
        operator.server.stop()
        activity_id = operator.recover("credential", "--lost", "all", "--credentials", "new.json")
        operator.server.start()
        deadline = time.monotonic() + PATIENCE_S
        while activity_id not in [one.activity["id"] for one in receiver.received]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    wait_for_log_line(operator.server, f"user {operator.root.user_id} has a new API key")
    assert operator.new_caller("new.json").ask("whoami").status_code == 200


def test_a_sub_organization(operator: Operator) -> None:
    """Its parent's endpoints hear of it. The key of a sibling is refused, as everywhere."""
    root, person, sibling = operator.root, generate_api_key(), generate_api_key()
    made = [
        root.result(
            "create_sub_organization",
            {
                "subOrganizationName": unique("person"),
                "rootQuorumThreshold": 1,
                "rootUsers": [
                    {
                        "userName": "Person",
                        "apiKeys": [
                            {"apiKeyName": "k", "publicKey": key.public_key, "curveType": "API_KEY_CURVE_P256"}
                        ],
                        "authenticators": [],
                        "oauthProviders": [],
                        "walletAuthenticators": [wallet_params(new_wallet())],
                    }
                ],
            },
        )
        for key in (person, sibling)
    ]
    organization_id = made[0]["subOrganizationId"]
    with receiving() as receiver:
        subscriptions = [{"eventType": "ACTIVITY_UPDATES"}]
        endpoint = {"url": receiver.url, "name": "endpoint", "subscriptions": subscriptions}
        root.submitted("create_webhook_endpoint", endpoint)
        words = ("credential", "--organization", organization_id, "--lost", "all")
        taken = operator.run(*words, "--api-public-key", sibling.public_key, "--yes")
        assert taken.returncode == 1
        activity_id = operator.recover(*words, "--credentials", "new.json")
        deadline = time.monotonic() + PATIENCE_S
        while activity_id not in [one.activity["id"] for one in receiver.received]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    recovered = operator.new_caller("new.json")
    assert recovered.asked("whoami")["organizationId"] == organization_id
    (user,) = recovered.asked("list_users")["users"]
    assert (len(user["apiKeys"]), user["walletAuthenticators"]) == (1, [])


REFUSALS: dict[tuple[str, ...], str] = {
    ("ip-allowlist",): "the organization enforces no IP allow-list",
    ("ip-allowlist", "--organization", "01a1ffce-afbf-7700-92ee-ff68bc6982e1"): "no organization found",
    ("credential", "--credentials", "new.json"): "say what is lost with --lost: all, none, or ids of ",
    (
        "credential",
        "--credentials",
        "there.json",
        "--lost",
        "all",
    ): "there.json exists already and is not overwritten",
    ("credential", "--lost", "all"): "give --api-public-key, or --credentials for a key that is made here",
    ("credential", "--lost", "x", "--credentials", "new.json"): "--lost x: this user has no such credential: ",
    ("credential", "--lost", "all", "--api-public-key", "02ab"): "expected a compressed key",
    (
        "credential",
        "--user",
        "x",
        "--lost",
        "all",
        "--credentials",
        "new.json",
    ): "--user x is not in the root quorum",
    ("quorum", "--threshold", "2", "--member", "{root}"): "--threshold 2: expected 1 to 1, the number of members",
    ("quorum", "--threshold", "1", "--member", "x"): "--member x: there is no such user in this organization",
    ("quorum", "--threshold", "1"): "Missing option '--member'",
}


@pytest.fixture(scope="module")
def quiet(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """For what changes nothing."""
    folder = tmp_path_factory.mktemp("recovering")
    (folder / "there.json").write_text("mine")
    installation = bootstrap_installation(make_database())
    with running(installation, folder / "log") as server:
        yield Operator(server, folder)
    installation.database.close()


@pytest.mark.parametrize(("words", "why"), REFUSALS.items(), ids=lambda each: str(each)[:60])
def test_refusals(words: tuple[str, ...], why: str, quiet: Operator) -> None:
    before = quiet.installation.database.counts()
    refused = quiet.run(*[word.format(root=quiet.root.user_id) for word in words], "--yes")
    assert refused.returncode in (1, 2), refused.stdout
    assert why in refused.stderr
    assert quiet.installation.database.counts() == before
    assert not (quiet.folder / "new.json").exists()
    assert (quiet.folder / "there.json").read_text() == "mine"


def test_another_master_key(quiet: Operator) -> None:
    """It is refused before anything is asked or shown."""
    before = quiet.installation.database.counts()
    words = ("credential", "--lost", "all", "--credentials", "new.json", "--yes")
    refused = quiet.run(*words, KEYSTEAD_MASTER_KEY=MasterKey.generate().secret_text())
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the master key does not open the stored data" in refused.stderr
    assert quiet.installation.database.counts() == before
    assert not (quiet.folder / "new.json").exists()


def test_questions(quiet: Operator, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done without a yes to each, nor without a terminal."""
    for name, value in quiet.environment.items():
        if name.startswith("KEYSTEAD_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(quiet.folder)
    monkeypatch.setattr("keystead.cli.operator.recovering.keep_memory_private", lambda: None)
    before = quiet.installation.database.counts()
    words = ("recover", "quorum", "--threshold", "1", "--member", quiet.root.user_id)
    printed = terminal.run(*words)
    assert (printed.code, "keystead recover --yes does not ask" in printed.err) == (1, True)
    for answers in ("", "n", "y\nn"):
        terminal.types(answers)
        printed = terminal.run(*words)
        assert (printed.code, "nothing was done: the answer was not yes" in printed.err) == (1, True)
    assert "Is 'Keystead GmbH' the right organization? [y/N]" in printed.err
    assert "The root quorum, which may do everything, is 1 of 'Root user'" in printed.out
    # Not every credential is lost, and not this one; then no.
    terminal.types("n\nn\nn")
    printed = terminal.run("recover", "credential", "--credentials", "new.json")
    assert printed.code == 1
    assert "0 credentials and 0 MFA policies of this user are removed" in printed.out
    assert quiet.installation.database.counts() == before


@pytest.mark.parametrize(
    ("is_made", "failure", "file_stays"),
    [
        (True, None, True),
        (True, unavailable("did not answer in time"), True),
        (False, unavailable("did not answer in time"), True),
        (False, InvalidRequest("no"), False),
    ],
    ids=["made", "made, and not answered", "not made, and not answered", "refused"],
)
def test_the_new_key_is_not_lost(
    is_made: bool, failure: Exception | None, file_stays: bool, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def recover(*values: Any) -> Any:
        made = await real_recover(*values) if is_made else None
        if failure is not None:
            raise failure
        return made

    key_file = operator.folder / "master.key"
    master_key.create(key_file, operator.installation.master_key)
    monkeypatch.setattr(recovering, "recover", recover)
    monkeypatch.setattr(recovering, "keep_memory_private", lambda: None)
    file = operator.folder / "new.json"
    with ExitStack() as refused:
        if failure is not None:
            refused.enter_context(pytest.raises(Failure))
        recovering.credential(
            operator.installation.database.url, str(key_file), lost=["all"], credentials=file, yes=True
        )
    assert file.exists() == file_stays
    if is_made:
        assert operator.new_caller("new.json").ask("whoami").status_code == 200


def test_killed_at_any_time(operator: Operator) -> None:
    """Either the new key, which the file has, replaces the old one, or nothing has changed."""
    database, known = operator.installation.database, operator.root
    seconds = timed_recovery(operator)
    known = operator.new_caller("timed.json")
    choice = random.Random(1)
    for number in range(6):
        file = f"new-{number}.json"
        words = ("recover", "credential", "--lost", "all", "--credentials", file, "--yes")
        process = start_keystead(
            *words, output=operator.folder / "out", environment=operator.environment, cwd=operator.folder
        )
        time.sleep(seconds * choice.uniform(0.3, 1.1))
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
        activities = len(database.rows(f"SELECT id FROM activity WHERE type = '{TYPE}'"))
        if known.ask("whoami").status_code == 401:
            known = operator.new_caller(file)
            known.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
        recovered = len(database.rows(f"SELECT id FROM activity WHERE type = '{TYPE}'"))
        assert recovered == activities
    assert operator.problems() == []


def timed_recovery(operator: Operator) -> float:
    """How many seconds a whole command takes."""
    began = time.monotonic()
    operator.recover("credential", "--lost", "all", "--credentials", "timed.json")
    return time.monotonic() - began


def test_against_the_writes_of_a_server(operator: Operator) -> None:
    """The server changes the organization all the time. No change of either is lost."""
    root, stop = operator.root, threading.Event()
    other = root.new_user()
    root.submitted("update_root_quorum", {"threshold": 1, "userIds": [root.user_id, other.user_id]})
    made: list[str] = []

    def write(caller: Caller) -> None:
        while not stop.is_set():
            name = unique("tag")
            if caller.submit("create_user_tag", {"userTagName": name, "userIds": []}).status_code == 200:
                made.append(name)

    writers = [threading.Thread(target=write, args=[other]) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        for number in range(3):
            words = ("--user", root.user_id, "--lost", "all", "--credentials", f"new-{number}.json")
            operator.recover("credential", *words)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    recovered = operator.new_caller("new-2.json")
    names = {tag["tagName"] for tag in recovered.asked("list_user_tags")["userTags"]}
    assert made
    assert set(made) <= names
    assert len(recovered.asked("list_activities", filterByType=[TYPE])["activities"]) == 3
    assert operator.problems() == []


Ask = Callable[[Caller, str], Any]
QUERIES: dict[str, tuple[int, Ask]] = {
    "describe_activities": (200, lambda root, id_: root.ask("describe_activities", activityIds=[id_])),
    "get_mfa_status": (200, lambda root, id_: root.ask("get_mfa_status", activityId=id_)),
    "get_activity": (200, lambda root, id_: root.ask("get_activity", activityId=id_)),
    "list_app_proofs": (200, lambda root, id_: root.ask("list_app_proofs", activityId=id_)),
    "try_policy": (
        200,
        lambda root, id_: root.ask(
            "try_policy", activityIds=[id_], effect="EFFECT_ALLOW", condition="activity.type == 'x'"
        ),
    ),
}


def test_the_activity_is_one_like_any_other(operator: Operator) -> None:
    """Except that nobody submits it over HTTP, and nobody votes on it."""
    root = operator.root
    root.submitted("set_ip_allowlist", NOWHERE)
    activity_id = operator.recover("ip-allowlist")
    for name, (status, ask) in QUERIES.items():
        assert ask(root, activity_id).status_code == status, name
    (described,) = root.asked("describe_activities", activityIds=[activity_id])["activityDescriptions"]
    assert described["headline"] == "Recovery by the operator: lift the IP allow-list"
    assert "no user asked" in described["cautions"][0]
    activity = root.asked("get_activity", activityId=activity_id)["activity"]
    for vote in ("approve_activity", "reject_activity"):
        status, message = refusal(root.submit(vote, {"fingerprint": activity["fingerprint"]}))
        assert (status, "votes on it are closed" in message) == (400, True)
    body = root.submit_body("set_ip_allowlist", {"liftIpAllowlist": True}, type=TYPE)
    assert root.post("/public/v1/submit/recover_organization", body).status_code == 404
    status, message = refusal(root.post("/public/v1/submit/set_ip_allowlist", body))
    assert (status, "does not belong to /public/v1/submit/set_ip_allowlist" in message) == (400, True)
    assert root.http.get("/openapi.json").text.count(TYPE) == 0
