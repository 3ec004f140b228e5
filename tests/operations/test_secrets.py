"""Secrets other than keys over HTTP, on both stores: there and back, policies, refusals that change nothing."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support import bundles
from tests.support.callers import Caller, answered, refusal, unique
from tests.support.organization_fixtures import SECRET_SUITE, policy_params, sealed_secret, secret_params
from tests.support.servers import Server

TARGET = bundles.fresh()
TARGET_TEXT = bundles.point(TARGET).hex()
NOBODY = "00000000-0000-7000-8000-ffffffffffff"
CARD = {"staticProperties": [{"key": "kind", "value": "card"}]}
PIN = {"staticProperties": [{"key": "kind", "value": "pin"}]}


@pytest.fixture(scope="module")
def signer(server: Server) -> str:
    """The key that clients are told to trust."""
    return str(server.http.get("/bundle-signer").json()["signingPublicKey"])


def imported(caller: Caller, plaintext: bytes, **members: Any) -> str:
    made = caller.result("import_secrets", {"secrets": [sealed_secret(caller, plaintext, **members)]})
    return str(made["secretIds"][0])


def export_params(*secret_ids: str, target: str = TARGET_TEXT) -> dict[str, Any]:
    return {
        "secrets": [
            {"secretId": each, "targetPublicKey": target, "encryptionSuite": SECRET_SUITE} for each in secret_ids
        ]
    }


def exported(caller: Caller, signer: str, *secret_ids: str) -> list[bytes]:
    payloads = caller.result("export_secrets", export_params(*secret_ids))["secretPayloads"]
    return [bundles.exported(each, signer, caller.organization_id, TARGET) for each in payloads]


def listed(caller: Caller, secret_id: str) -> dict[str, Any] | None:
    found = caller.asked("list_secrets", paginationOptions={"limit": "100"})["secrets"]
    return next((each for each in found if each["secretId"] == secret_id), None)


PLAINTEXTS = [b"hunter2", b"", bytes(range(256)), "пароль".encode(), b"x" * 16_384]


@pytest.mark.parametrize("plaintext", PLAINTEXTS, ids=["text", "empty", "bytes", "another script", "longest"])
def test_there_and_back(plaintext: bytes, caller: Caller, signer: str) -> None:
    assert exported(caller, signer, imported(caller, plaintext)) == [plaintext]


def test_a_batch_in_its_order(caller: Caller, signer: str) -> None:
    begun = caller.result("init_import_secrets", {"encryptionSuite": SECRET_SUITE, "numSecrets": 3})
    messages = begun["enclaveTargetMessages"]
    contents = [bundles.trusted(each, signer, organizationId=caller.organization_id) for each in messages]
    assert len({content["targetPublic"] for content in contents}) == 3
    given = [secret_params(f"secret {at}".encode(), each) for at, each in enumerate(messages)]
    ids = caller.result("import_secrets", {"secrets": given[::-1]})["secretIds"]
    assert exported(caller, signer, *ids, ids[0]) == [b"secret 2", b"secret 1", b"secret 0", b"secret 2"]


def test_what_is_listed(caller: Caller) -> None:
    name = unique("visa")
    properties = [{"key": "kind", "value": "card"}, {"key": "empty"}]
    secret_id = imported(caller, b"4242", name=name, staticProperties=properties)
    shown = listed(caller, secret_id)
    assert shown is not None
    assert shown.pop("createdAtUnixMs").isdecimal()
    assert shown == {
        "secretId": secret_id,
        "name": name,
        "staticProperties": [{"key": "kind", "value": "card"}, {"key": "empty", "value": ""}],
    }
    nameless = listed(caller, imported(caller, b"4243"))
    assert nameless is not None
    assert nameless["staticProperties"] == []


def test_pages(server: Server, caller: Caller) -> None:
    ids = [imported(caller, b"x") for _ in range(3)][::-1]

    def page(**options: str) -> list[str]:
        return [each["secretId"] for each in caller.asked("list_secrets", paginationOptions=options)["secrets"]]

    assert page(limit="2") == ids[:2]
    assert page(limit="1", after=ids[0]) == ids[1:2]
    assert page(limit="1", before=ids[2]) == ids[1:2]
    assert page(limit="10", before=ids[0]) == []
    assert refusal(caller.ask("list_secrets", paginationOptions={"after": NOBODY}))[0] == 400


def test_deleted_secrets_are_gone(caller: Caller, signer: str) -> None:
    first, second = imported(caller, b"1"), imported(caller, b"2")
    assert refusal(caller.submit("delete_secrets", {"secretIds": [first, NOBODY]}))[0] == 404
    assert exported(caller, signer, first) == [b"1"], "all or none"
    deleted = caller.result("delete_secrets", {"secretIds": [first, first]})
    assert deleted == {"secretIds": [first]}
    assert listed(caller, first) is None
    assert refusal(caller.submit("export_secrets", export_params(second, first)))[0] == 404


def test_each_target_takes_one_secret(caller: Caller) -> None:
    sealed = sealed_secret(caller, b"once")
    caller.submitted("import_secrets", {"secrets": [sealed]})
    again = caller.submit("import_secrets", {"secrets": [{**sealed, "name": unique("again")}]})
    status, message = refusal(again)
    assert (status, "none of the user's open imports has this key" in message) == (400, True)
    twice = sealed_secret(caller, b"twice")
    assert refusal(caller.submit("import_secrets", {"secrets": [twice, twice]}))[0] == 400
    caller.submitted("import_secrets", {"secrets": [twice]})


def test_two_imports_with_one_target_at_once(caller: Caller) -> None:
    sealed = sealed_secret(caller, b"race")
    bodies = [{"secrets": [{**sealed, "name": unique("race")}]} for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda body: caller.submit("import_secrets", body).status_code, bodies))
    assert sorted(answers) == [200, 400, 400, 400]


def _altered(sealed: dict[str, Any], member: str, at: int) -> dict[str, Any]:
    payload = json.loads(sealed["secretPayload"])
    digits = bytearray(bytes.fromhex(payload[member]))
    digits[at] ^= 1
    return {**sealed, "secretPayload": json.dumps({**payload, member: digits.hex()})}


ALTERED: dict[str, Any] = {
    "the ciphertext": lambda s: _altered(s, "ciphertext", 0),
    "its tag": lambda s: _altered(s, "ciphertext", -1),
    "the encapsulated key": lambda s: _altered(s, "encappedPublic", 40),
    "sealed to another key": lambda s: {**s, "secretPayload": bundles.message(b"x", bundles.point(TARGET))},
    "another target": lambda s: {**s, "targetPublicKey": TARGET_TEXT},
    "no point": lambda s: {**s, "targetPublicKey": "04" + "11" * 64},
    "no JSON": lambda s: {**s, "secretPayload": "secret"},
    "another suite": lambda s: {**s, "encryptionSuite": "TRANSPORT_ENCRYPTION_SUITE_NONE"},
    "a property twice": lambda s: {**s, "staticProperties": [{"key": "a"}, {"key": "a", "value": "b"}]},
    "a property without a key": lambda s: {**s, "staticProperties": [{"key": "", "value": "b"}]},
    "too many properties": lambda s: {**s, "staticProperties": [{"key": str(n)} for n in range(11)]},
    "too long": lambda s: {
        **s,
        "secretPayload": bundles.message(b"x" * 16_385, bytes.fromhex(s["targetPublicKey"])),
    },
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED)
def test_refused_imports_leave_everything_as_it_was(alter: Any, caller: Caller) -> None:
    sealed = sealed_secret(caller, b"kept")
    before = caller.asked("list_secrets")
    good = sealed_secret(caller, b"other")
    status, _ = refusal(caller.submit("import_secrets", {"secrets": [good, alter(sealed)]}))
    assert status == 400
    assert caller.asked("list_secrets") == before
    caller.submitted("import_secrets", {"secrets": [sealed, good]})


def test_names_are_unique(caller: Caller) -> None:
    name = unique("secret")
    imported(caller, b"1", name=name)
    taken = caller.submit("import_secrets", {"secrets": [sealed_secret(caller, b"2", name=name)]})
    status, message = refusal(taken)
    assert (status, "secret name must be unique" in message) == (400, True)
    other = unique("secret")
    pair = [sealed_secret(caller, b"3", name=other), sealed_secret(caller, b"4", name=other)]
    assert refusal(caller.submit("import_secrets", {"secrets": pair}))[0] == 400


@pytest.mark.parametrize(
    ("name", "parameters", "status"),
    [
        ("init_import_secrets", {"encryptionSuite": SECRET_SUITE, "numSecrets": 0}, 400),
        ("init_import_secrets", {"encryptionSuite": SECRET_SUITE, "numSecrets": 11}, 400),
        ("init_import_secrets", {"encryptionSuite": "NONE", "numSecrets": 1}, 400),
        ("import_secrets", {"secrets": []}, 400),
        ("export_secrets", {"secrets": []}, 400),
        ("export_secrets", export_params(NOBODY), 404),
        ("export_secrets", export_params(*[NOBODY] * 11), 400),
        ("delete_secrets", {"secretIds": []}, 400),
    ],
)
def test_refused(name: str, parameters: dict[str, Any], status: int, caller: Caller) -> None:
    assert refusal(caller.submit(name, parameters))[0] == status


def test_no_target_that_is_no_point(caller: Caller) -> None:
    secret_id = imported(caller, b"x")
    assert refusal(caller.submit("export_secrets", export_params(secret_id, target="04" + "11" * 64)))[0] == 400


def allow(caller: Caller, user: Caller, condition: str, **members: Any) -> None:
    policy = {"consensus": f"approvers.any(u, u.id == '{user.user_id}')", "condition": condition, **members}
    caller.submitted("create_policy", policy_params(**policy))


def test_another_users_target_is_not_taken(caller: Caller) -> None:
    user = caller.new_user()
    allow(caller, user, "activity.resource == 'SECRET' && activity.action == 'IMPORT'")
    sealed = sealed_secret(caller, b"mine")
    assert refusal(user.submit("import_secrets", {"secrets": [sealed]}))[0] == 400
    user.submitted("import_secrets", {"secrets": [sealed_secret(user, b"own")]})
    assert refusal(user.submit("export_secrets", export_params(imported(caller, b"x"))))[0] == 403


def test_policies_decide_about_every_secret_of_a_batch(caller: Caller, signer: str) -> None:
    agent = caller.new_user()
    condition = "secret.static_properties['kind'] == 'card' && activity.type == 'ACTIVITY_TYPE_EXPORT_SECRETS'"
    allow(caller, agent, condition)
    cards = [imported(caller, b"4242", **CARD), imported(caller, b"4343", **CARD)]
    pin, plain = imported(caller, b"1234", **PIN), imported(caller, b"nothing")
    assert exported(agent, signer, *cards) == [b"4242", b"4343"]
    for batch in ([pin], [*cards, pin], [pin, *cards], [cards[0], plain]):
        refused = agent.submit("export_secrets", export_params(*batch))
        assert refusal(refused)[0] == 403, batch
    assert refusal(agent.submit("delete_secrets", {"secretIds": cards}))[0] == 403
    assert exported(caller, signer, *cards, pin, plain) == [b"4242", b"4343", b"1234", b"nothing"]


def test_policies_read_the_context_of_an_export(caller: Caller, signer: str) -> None:
    agent = caller.new_user()
    allow(caller, agent, "secret.request_context['reason'] == 'payment'")
    first, second = imported(caller, b"first"), imported(caller, b"second")

    def asked(*reasons: str | None) -> dict[str, Any]:
        parameters = export_params(first, second)
        for secret, reason in zip(parameters["secrets"], reasons, strict=True):
            if reason is not None:
                secret["requestContext"] = [{"key": "reason", "value": reason}, {"key": "invoice", "value": "7"}]
        return parameters

    for reasons in ((None, None), ("payment", None), ("payment", "curiosity")):
        assert refusal(agent.submit("export_secrets", asked(*reasons)))[0] == 403, reasons
    parameters = asked("payment", "payment")
    activity = agent.submitted("export_secrets", parameters)
    assert activity["intent"]["exportSecretsIntent"]["secrets"] == parameters["secrets"]
    parameters["secrets"][1]["requestContext"] *= 2
    status, message = refusal(agent.submit("export_secrets", parameters))
    assert (status, "`parameters.secrets[1].requestContext`: two properties have the key" in message) == (400, True)


def test_a_denial_of_one_secret_denies_the_batch(caller: Caller, signer: str) -> None:
    agent = caller.new_user()
    kind = secrets.token_hex(4)
    allow(caller, agent, "activity.resource == 'SECRET'")
    allow(caller, agent, f"secret.static_properties['kind'] == '{kind}'", effect="EFFECT_DENY")
    free = imported(caller, b"free", **CARD)
    denied = imported(caller, b"denied", staticProperties=[{"key": "kind", "value": kind}])
    assert exported(agent, signer, free) == [b"free"]
    for name, parameters in (
        ("export_secrets", export_params(free, denied)),
        ("delete_secrets", {"secretIds": [free, denied]}),
    ):
        assert refusal(agent.submit(name, parameters))[0] == 403
    assert caller.result("delete_secrets", {"secretIds": [free, denied]})


def test_an_export_waits_for_the_approvals_that_one_of_its_secrets_needs(caller: Caller, signer: str) -> None:
    agent, other = caller.new_user(), caller.new_user()
    both = f"approvers.any(u, u.id == '{other.user_id}') && approvers.any(u, u.id == '{agent.user_id}')"
    kind = secrets.token_hex(4)
    allow(caller, agent, "secret.static_properties['kind'] == 'card'")
    condition = f"secret.static_properties['kind'] == '{kind}'"
    caller.submitted("create_policy", policy_params(condition=condition, consensus=both))
    card = imported(caller, b"card", **CARD)
    guarded = imported(caller, b"guarded", staticProperties=[{"key": "kind", "value": kind}])
    waiting = answered(agent.submit("export_secrets", export_params(card, guarded)))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    described = caller.asked("describe_activities", activityIds=[waiting["id"]])["activityDescriptions"][0]
    assert other.user_id in {user for way in described["missingApprovals"] for user in way["userIds"]}
    done = other.submitted("approve_activity", {"fingerprint": waiting["fingerprint"]})
    payloads = done["result"]["exportSecretsResult"]["secretPayloads"]
    opened = [bundles.exported(each, signer, caller.organization_id, TARGET) for each in payloads]
    assert opened == [b"card", b"guarded"]


def test_a_condition_is_explained_for_every_secret_of_a_batch(caller: Caller, signer: str) -> None:
    first, second = imported(caller, b"x", **PIN), imported(caller, b"y", **CARD)
    policy = policy_params(condition="secret.static_properties['kind'] == 'card'")
    policy_id = caller.result("create_policy", policy)["policyId"]
    for batch, items in (((first, second), [(1, "false"), (2, "true")]), ((second,), [(None, "true")])):
        activity = answered(caller.submit("export_secrets", export_params(*batch)))["activity"]
        explained = caller.asked("explain_policy", activityId=activity["id"], policyId=policy_id)
        conditions = [one for one in explained["explainedClauses"] if one["clause"] == "condition"]
        assert [(one.get("item"), one["parts"][0]["value"]) for one in conditions] == items
