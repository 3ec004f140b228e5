"""Warnings about policies: their text, and where they are left out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.enums import Effect
from keystead.api.records import MfaPolicy, Policy, Timestamp
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation, alternatives
from keystead.policies.bounds import ANALYZED_MFA_CHARACTERS_MAX
from keystead.policies.linting.literals import KnownIds
from keystead.policies.linting.warnings import (
    DENY_RAW_PAYLOADS,
    ServerSettings,
    WarningCode,
    policy_warnings,
)
from keystead.policies.resources import GOVERNED_KINDS


def policy(condition: str, effect: Effect = Effect.DENY, policy_id: str = "id") -> Policy:
    born = Timestamp.from_ms(0)
    return Policy(
        policy_id=policy_id,
        policy_name="Big",
        effect=effect,
        created_at=born,
        updated_at=born,
        notes="",
        consensus="",
        condition=condition,
    )


NOTHING_KNOWN, DEFAULTS = KnownIds(), ServerSettings()
ALTERNATIVES = alternatives(CATALOGUE)


def warned(
    *policies: Policy, known: KnownIds = NOTHING_KNOWN, settings: ServerSettings = DEFAULTS
) -> list[tuple[WarningCode, str]]:
    found = [each for step in policy_warnings(policies, known, settings, ALTERNATIVES) for each in step]
    return [(each.code, each.message) for each in found]


def unsafe_denials(denial: Policy) -> list[str]:
    """The warnings about a policy that denies nothing."""
    return [message for code, message in warned(denial) if code is WarningCode.DENIES_NOTHING]


SAFE = [
    "",
    "true",
    "activity.action == 'DELETE'",
    "activity.resource == 'WALLET' && !(activity.action == 'CREATE')",
    "activity.kind == 'EXPORT_WALLET' && wallet.id != 'x'",
    "activity.kind in ['EXPORT_WALLET', 'EXPORT_WALLET_ACCOUNT'] && wallet.id != 'x'",
    "['EXPORT_WALLET', 'EXPORT_WALLET_ACCOUNT'].contains(activity.kind) && wallet.id != 'x'",
    "'EXPORT_WALLET' == activity.kind && wallet.id != 'x'",
    "!(activity.kind != 'EXPORT_WALLET') && wallet.id != 'x'",
    "activity.kind == 'DELETE_WALLETS' && wallets.any(wallet, wallet.label == 'x')",
    "activity.kind == 'DELETE_USERS' && activity.params.user_ids.contains('A')",
    "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2' && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'"
    " && eth.tx.value > 5",
    "activity.kind == 'SIGN_RAW_PAYLOAD' && activity.params.encoding == 'PAYLOAD_ENCODING_EIP712'"
    " && eth.eip_712.primary_type == 'Permit'",
    "activity.kind == 'ETH_SEND_TRANSACTION' && eth.tx.function_name == 'x'"
    " && eth.tx.contract_call_args['wad'] < 5 && eth.tx.data[0..10] == '0x'",
    "activity.kind == 'SOL_SEND_TRANSACTION'"
    " && solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'route')",
    "false && wallet.id == 'x'",
    "activity.kind == ",
]


@pytest.mark.parametrize("condition", SAFE)
def test_no_warnings(condition: str) -> None:
    assert unsafe_denials(policy(condition)) == []


NOTHING = "DENY policy 'Big' (id): it denies nothing"
WHERE = f"{NOTHING} where"
WARNED: list[tuple[str, list[str]]] = [
    (
        "eth.tx.value > 5",
        [
            f"{WHERE} eth.tx is absent: every kind of activity but ETH_SEND_TRANSACTION and some forms of "
            "SIGN_TRANSACTION"
        ],
    ),
    (
        "activity.kind == 'SIGN_TRANSACTION' && eth.tx.value > 5",
        [f"{WHERE} eth.tx is absent: some forms of SIGN_TRANSACTION"],
    ),
    (
        "activity.resource == 'WALLET' && wallet.id == 'x'",
        [
            f"{WHERE} wallet is absent: CREATE_WALLET, CREATE_WALLET_ACCOUNTS, DELETE_WALLETS, "
            "DELETE_WALLET_ACCOUNTS, IMPORT_WALLET, INIT_IMPORT_WALLET and 2 more kinds of activity"
        ],
    ),
    (
        "activity.params.user_ids.count() > 1",
        [f"{WHERE} activity.params.user_ids is absent: every kind of activity but DELETE_USERS"],
    ),
    (
        "wallet.id == 'a' || private_key.id == 'b'",
        [f"{NOTHING}, because no activity has all of the keywords that it names: wallet, private_key"],
    ),
    (
        "activity.action == 'SIGN' && (eth.tx.value > 5 || solana.tx.transfers.any(t, t.amount > 5))",
        [f"{NOTHING} where", f"{NOTHING} where"],
    ),
    ("['A'].any(x, private_key.id == x)", [f"{WHERE} private_key is absent: some forms of ETH_SEND_TRANSACTION, "]),
    ("'OPS' in private_key.tags", [f"{WHERE} private_key is absent: "]),
]


@pytest.mark.parametrize(("condition", "starts"), WARNED)
def test_warnings(condition: str, starts: list[str]) -> None:
    warnings = unsafe_denials(policy(condition))
    assert len(warnings) == len(starts)
    for warning, start in zip(warnings, starts, strict=True):
        assert warning.startswith(start)


def test_only_of_deny_policies_and_without_an_id_by_name_alone() -> None:
    assert unsafe_denials(policy("eth.tx.value > 5", Effect.ALLOW)) == []
    (warning,) = unsafe_denials(policy("eth.tx.value > 5", policy_id="Big"))
    assert warning.startswith("DENY policy 'Big': it denies nothing")


def with_consensus(consensus: str, effect: Effect = Effect.ALLOW) -> Policy:
    return replace(policy("activity.action == 'SIGN'", effect), consensus=consensus)


ALLOWING = "ALLOW policy 'Big' (id)"
DENYING = "DENY policy 'Big' (id)"
KNOWN = KnownIds(
    users=frozenset({"A"}),
    user_tags=frozenset({"OPS"}),
    wallets=frozenset({"W"}),
    private_keys=frozenset({"K"}),
    private_key_tags=frozenset({"HOT"}),
)
ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
SOLANA = "G5TuEwcqnrdJLrZUFBGDHZTkHrdmm3DxjFY4HaBfj6jr"


def allowing(condition: str) -> Policy:
    return policy(condition, Effect.ALLOW)


NEVER, IMPOSSIBLE = WarningCode.NEVER_APPLIES, WarningCode.IMPOSSIBLE_LITERAL
OTHER_WARNINGS: list[tuple[str, Policy, list[tuple[WarningCode, str]]]] = [
    (
        "an expression that no longer compiles",
        policy("eth.tx.value > "),
        [(WarningCode.UNREADABLE, f"{DENYING} cannot be read: ")],
    ),
    ("false", policy("false"), [(NEVER, f"{DENYING} never applies: its condition is false for every activity")]),
    (
        "two kinds at once",
        allowing("activity.kind == 'CREATE_USERS' && activity.kind == 'DELETE_USERS'"),
        [(NEVER, f"{ALLOWING} never applies: its condition is false for every activity")],
    ),
    (
        "two keywords that no activity fills together",
        allowing("wallet.id == 'W' || private_key.id == 'K'"),
        [
            (
                NEVER,
                f"{ALLOWING} never applies: its condition is false or names an absent keyword for every activity",
            )
        ],
    ),
    (
        "no condition and no consensus",
        allowing(""),
        [(WarningCode.ALLOWS_EVERYTHING, f"{ALLOWING} allows every activity to every user")],
    ),
    (
        "a condition that is always true",
        allowing("activity.action == 'SIGN' || true"),
        [(WarningCode.ALLOWS_EVERYTHING, f"{ALLOWING} allows every activity to every user")],
    ),
    ("a consensus is enough", replace(allowing(""), consensus="approvers.count() >= 2"), []),
    (
        "a word that a closed list does not have",
        allowing("activity.kind == 'SIGN_TRANSACTIONS' || activity.kind == 'SIGN_TRANSACTION'"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: activity.kind is compared with 'SIGN_TRANSACTIONS', which it")],
    ),
    (
        "a type without its prefix",
        allowing("activity.type in ['SIGN_TRANSACTION_V2', 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2']"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: activity.type is compared with 'SIGN_TRANSACTION_V2', which")],
    ),
    (
        "a credential type",
        with_consensus("credentials.any(c, c.type == 'PASSKEY')"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: credentials[].type is compared with 'PASSKEY', which it")],
    ),
    (
        "a short address",
        allowing("eth.tx.to == '0x5FbDB2315678afecb367f032d93F642f64180a'"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: eth.tx.to is compared with '0x5FbDB2315678afecb367f032d93F")],
    ),
    ("an address, and the creation of a contract", allowing(f"eth.tx.to in ['{ADDRESS}', '']"), []),
    (
        "an address of another chain",
        allowing(f"solana.tx.transfers.all(t, t.to == '{ADDRESS}')"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: solana.tx.transfers[].to is compared with '{ADDRESS}', which")],
    ),
    ("an address of the chain", allowing(f"solana.tx.transfers[0].to == '{SOLANA}'"), []),
    (
        "one program in a list of others",
        allowing(f"solana.tx.program_keys.all(p, ['{SOLANA}', 'short'].contains(p))"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: solana.tx.program_keys[] is compared with 'short', which")],
    ),
    (
        "an unknown user",
        with_consensus("approvers.any(u, u.id == 'A' || u.id == 'gone')"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: approvers[].id is compared with 'gone', but no user has")],
    ),
    (
        "an unknown tag",
        with_consensus("approvers.filter(u, u.tags.contains('GONE') || 'OPS' in u.tags).count() > 1"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: approvers[].tags[] is compared with 'GONE', but no user tag")],
    ),
    (
        "an unknown wallet",
        allowing("wallet.id == 'gone'"),
        [(IMPOSSIBLE, f"{ALLOWING} may never apply: wallet.id is compared with 'gone', but no wallet has this id")],
    ),
    (
        "one of two kinds",
        policy("activity.kind == 'SIGN_RAW_PAYLOAD'"),
        [(WarningCode.OTHER_KIND, f"{DENYING} applies to SIGN_RAW_PAYLOAD and not to SIGN_RAW_PAYLOADS, which")],
    ),
    (
        "the other of two kinds, by type",
        policy("activity.type == 'ACTIVITY_TYPE_CREATE_POLICIES'"),
        [
            (
                WarningCode.OTHER_KIND,
                f"{DENYING} applies to CREATE_POLICIES and not to CREATE_POLICY, which can do",
            ),
            (
                WarningCode.OTHER_KIND,
                f"{DENYING} applies to CREATE_POLICIES and not to UPDATE_POLICY, which can do",
            ),
        ],
    ),
    ("both kinds", policy("activity.kind in ['SIGN_RAW_PAYLOAD', 'SIGN_RAW_PAYLOADS']"), []),
    ("one of two kinds, allowed", allowing("activity.kind == 'SIGN_RAW_PAYLOAD'"), []),
    (
        "a transaction",
        policy(
            "activity.kind == 'SIGN_TRANSACTION' && activity.params.type == 'TRANSACTION_TYPE_BITCOIN'"
            " && bitcoin.tx.fee > 5"
        ),
        [(WarningCode.RAW_PAYLOAD, f"{DENYING} can be bypassed: the same transaction can be signed as a raw")],
    ),
    (
        "the kind of transactions",
        policy("activity.kind == 'SIGN_TRANSACTION'"),
        [(WarningCode.RAW_PAYLOAD, f"{DENYING} can be bypassed: the same transaction can be signed as a raw")],
    ),
    (
        "an account by its address",
        policy(f"activity.kind == 'EXPORT_WALLET_ACCOUNT' && wallet_account.address == '{ADDRESS}'"),
        [
            (WarningCode.OTHER_KIND, f"{DENYING} applies to EXPORT_WALLET_ACCOUNT and not to EXPORT_WALLET, which"),
            (WarningCode.OTHER_ADDRESS, f"{DENYING} can be bypassed: the key of this account may have addresses"),
        ],
    ),
]


SAME = [
    ("STAMP_LOGIN", "CREATE_READ_WRITE_SESSION"),
    ("OAUTH_LOGIN", "OAUTH"),
    ("OTP_LOGIN", "OTP_AUTH"),
    ("INIT_OTP", "INIT_OTP_AUTH"),
    ("UPDATE_USER_TAG", "UPDATE_USER"),
    ("UPDATE_USER_EMAIL", "UPDATE_USER"),
    ("SIGN_RAW_PAYLOAD", "SIGN_RAW_PAYLOADS"),
    ("SET_IP_ALLOWLIST", "REMOVE_IP_ALLOWLIST"),
]
"""Pairs of which each kind can do what the other does."""


@pytest.mark.parametrize(("one", "other"), [*SAME, *[pair[::-1] for pair in SAME]])
def test_kinds_that_can_do_the_same(one: str, other: str) -> None:
    expected = f"{DENYING} applies to {one} and not to {other}, which can do the same: name both kinds"
    assert (WarningCode.OTHER_KIND, expected) in warned(policy(f"activity.kind == '{one}'"))
    named = f"['{one}', '{other}']"
    assert expected not in [message for _, message in warned(policy(f"activity.kind in {named}"))]


def test_operations_name_kinds_that_others_execute() -> None:
    executed = {
        activity_kind(operation.activity_types[0])
        for operation in CATALOGUE
        if isinstance(operation, ActivityOperation)
    }
    for kind, others in ALTERNATIVES.items():
        assert kind in GOVERNED_KINDS
        assert {kind, *others} <= executed
        assert kind not in others
        assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    ("one", "expected"), [row[1:] for row in OTHER_WARNINGS], ids=[row[0] for row in OTHER_WARNINGS]
)
def test_other_warnings(one: Policy, expected: list[tuple[WarningCode, str]]) -> None:
    found = warned(one, known=KNOWN)
    assert [code for code, _ in found] == [code for code, _ in expected]
    for (_, message), (_, start) in zip(found, expected, strict=True):
        assert message.startswith(start)


def test_unknown_sets_of_ids_give_no_warnings() -> None:
    assert warned(allowing("wallet.id == 'gone'")) == []


BITCOIN = "activity.kind == 'SIGN_TRANSACTION' && activity.params.type == 'TRANSACTION_TYPE_BITCOIN' && "


def test_a_bypass_that_another_policy_denies_gives_no_warning() -> None:
    fees = policy(BITCOIN + "bitcoin.tx.fee > 5")
    closing = policy(DENY_RAW_PAYLOADS, policy_id="closing")
    assert warned(fees, closing) == []
    assert [code for code, _ in warned(fees, replace(closing, consensus="approvers.count() >= 2"))] == [
        WarningCode.RAW_PAYLOAD
    ]
    assert [code for code, _ in warned(fees, replace(closing, effect=Effect.ALLOW))] == [WarningCode.RAW_PAYLOAD]
    one, other = (policy(f"activity.kind == '{kind}'") for kind in ("INIT_OTP", "INIT_OTP_AUTH"))
    assert warned(one, other) == []


def test_a_server_that_refuses_raw_payloads() -> None:
    assert warned(policy(BITCOIN + "bitcoin.tx.fee > 5"), settings=ServerSettings(refuses_raw_payloads=True)) == []


def test_of_some_policies_alone() -> None:
    policies = [policy("false", policy_id=policy_id) for policy_id in "ab"]
    steps = policy_warnings(policies, KNOWN, DEFAULTS, ALTERNATIVES, of_policies={"b"})
    assert [warning.policy_id for step in steps for warning in step] == ["b"]


def test_mfa_policies_beyond_a_number_of_characters_are_left_out() -> None:
    """The policies of a user are looked at together, so none of a user's is left out alone."""
    condition = "false".ljust(ANALYZED_MFA_CHARACTERS_MAX // 20)

    def of_user(user: int, count: int) -> list[MfaPolicy]:
        return [mfa_policy(f"{user} {number}", condition) for number in range(count)]

    for users, expected in (([20], 20), ([10, 10], 20), ([10, 11], 10), ([21], 0)):
        own = [of_user(user, count) for user, count in enumerate(users)]
        steps = policy_warnings([], KNOWN, DEFAULTS, ALTERNATIVES, mfa_policies=own)
        assert len([warning for step in steps for warning in step]) == expected


def mfa_policy(policy_id: str, condition: str) -> MfaPolicy:
    return MfaPolicy(
        mfa_policy_id=policy_id,
        mfa_policy_name=policy_id,
        condition=condition,
        required_authentication_methods=(),
        order=1,
        notes="",
        created_at=Timestamp.from_ms(0),
        updated_at=Timestamp.from_ms(0),
    )
