"""Bounds that a caller can meet are declared in the `bounds` module of their package; docs/limits.md shows them."""

from __future__ import annotations

import ast
import re
import typing
from importlib import import_module

import pytest

from tests.support.source_tree import assert_only, modules
from tools import limits

BOUND = re.compile(r"_?[A-Z][A-Z0-9_]*_(MAX|MIN)(_[A-Z]+)?")
CLIENTS = ("keystead.cli.", "keystead.client.")

NO_CALLER_MEETS = {
    "server.authentication._HOLDERS_MAX": "organizations in which a passkey is looked for",
    "server.refused_requests.REASON_MAX": "how much of a reason the list of refused requests shows",
    "server.refused_requests.RECORDED_MAX": "beyond it, refused requests are only counted",
    "server.refused_requests.WAITING_MAX": "refusals that wait to be written",
    "api.choices.ALL_SHOWN_MAX": "how many words a refusal shows",
    "api.choices.CHARACTERS_MAX": "longer words are compared with no other",
    "api.choices.WORDS_MAX": "longer lists are compared with no word",
    "api.operation_paths._LENGTH_DIFFERENCE_MAX": "which paths are compared",
    "chains.ethereum.rlp._SHORT_MAX": "a number of the encoding",
    "chains.paths._SHOWN_LENGTH_MAX": "how much of a path a refusal shows",
    "chains.paths._TEXT_LENGTH_MAX": "follows from the depth of a path",
    "chains.solana.interfaces._DIGITS_MAX": "which names of a method are tried",
    "chains.solana.movements._UNITS_MAX": "a number of the chain",
    "chains.taproot.OUTPUT_KEYS_CACHED_MAX": "size of a cache",
    "delivery.outbox.AT_ONCE_MAX": "the others wait",
    "delivery.outbox.PAUSE_MAX_MS": "pause of a loop",
    "delivery.webhooks.connecting.RESOLVING_MAX": "the others wait",
    "delivery.webhooks.connecting._ADDRESSES_TRIED_MAX": "addresses of one name",
    "delivery.webhooks.dispatcher.AT_ONCE_MAX": "the others wait",
    "delivery.webhooks.dispatcher.WINDOWS_MAX": "the others wait",
    "delivery.webhooks.dispatcher._RELEASED_MAX": "size of a cache",
    "delivery.webhooks.dispatcher._ROUNDS_MAX": "the others wait",
    "delivery.webhooks.sending.CONNECTIONS_MAX": "the others wait",
    "delivery.webhooks.sending.IDLE_CONNECTIONS_MAX": "connections that are kept",
    "describe.payloads._LENGTH_DIGITS_MAX": "which texts are numbers",
    "failures.defects._EXCEPTIONS_MAX": "length of a log line",
    "failures.defects._PLACES_MAX": "length of a log line",
    "failures.defects._PLACES_MIN": "length of a log line",
    "failures.rounds.PAUSE_MAX_S": "pause of a loop",
    "failures.rounds._DOUBLINGS_MAX": "pause of a loop",
    "identities.discovery.CACHED_MAX_S": "how long keys are cached",
    "identities.discovery.CACHED_MIN_S": "how long keys are cached",
    "keys.master_key._FILE_BYTES_MAX": "a file of the operator",
    "keys.token_key._PIN_FILE_BYTES_MAX": "a file of the operator",
    "operations.wallets.secrets._PAYLOAD_LENGTH_MAX": "follows from the bytes of a secret",
    "pipeline.changes.LOOKUPS_DELETED_AT_ONCE_MAX": "the others are deleted in steps",
    "pipeline.mfa.CONDITION_STEPS_MAX": "a condition beyond it holds",
    "pipeline.mfa.STEPS_MAX": "conditions beyond it hold",
    "pipeline.mfa._CONDITION_STEPS_MIN": "a share of the steps",
    "pipeline.open_activities.VOTE_RIGHTS_MAX": "size of a cache",
    "pipeline.organization_writer.CHANGES_MAX": "the others are in the next batch",
    "pipeline.organization_writer.DECISIONS_MAX": "the others are in the next batch",
    "pipeline.organization_writer.UNQUEUED_MAX": "the others wait",
    "pipeline.policy_set_cache.CHARACTERS_MAX": "size of a cache",
    "pipeline.policy_set_cache.MFA_CHARACTERS_MAX": "conditions beyond it hold",
    "policies.added_credentials._STEPS_MAX": "an added credential counts beyond it",
    "policies.language.time._DURATION_MAX": "a time and no number; the reference of the language names it",
    "policies.policy_set.SLICES_MAX": "size of a cache",
    "policies.policy_set.SLICE_STEPS_MAX": "a slice is larger beyond it",
    "policies.policy_set._SETTLING_STEPS_MAX": "a slice is larger beyond it",
    "primitives.secp256k1.PUBLIC_KEYS_CACHED_MAX": "size of a cache",
    "primitives.share.OWNERS_MAX": "owners that are remembered",
    "server.installation.deletions.NOTED_MAX": "the others are found later",
    "server.installation.rotation._PASSES_MAX": "a command of the operator",
    "server.installation.rotation._SHOWN_MAX": "a command of the operator",
    "server.installation.status.ORGANIZATIONS_COUNTED_MAX": "a command of the operator",
    "server.limits.concurrency_limit.LIMIT_MIN": "the others wait",
    "server.limits.rate_table._WAIT_MAX_S": "wait for a lock",
    "server.metrics.sampling._COUNTED_MAX": "what the metrics count",
    "server.senders.HOOK_SECRET_BYTES_MIN": "a setting of the operator",
    "signer.process.IN_FLIGHT_MAX": "the others wait",
    "signer.wallet_calls.INLINE_STEPS_MAX": "longer calls take turns",
    "stamps.api_key.LOADED_KEYS_MAX": "size of a cache",
    "stamps.webauthn.LOADED_KEYS_MAX": "size of a cache",
    "storage.group_commit.BATCH_MAX": "the others are in the next batch",
    "storage.group_commit.ROWS_MAX": "the others are in the next batch",
}

REFUSALS_NAME = {
    "chains.paths._TEXT_LENGTH_MAX": "follows from the depth of a path",
    "operations.wallets.secrets._PAYLOAD_LENGTH_MAX": "follows from the bytes of a secret",
    "server.senders.HOOK_SECRET_BYTES_MIN": "a setting of the operator",
}


def _server_modules() -> list[typing.Any]:
    return [
        module
        for module in modules().values()
        if not module.name.startswith(CLIENTS) and not module.name.endswith(".bounds")
    ]


def _declared(tree: ast.Module) -> set[str]:
    """The names that the top level of a module assigns, also several at once."""
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def test_a_bound_outside_of_the_bounds_modules_has_a_reason() -> None:
    found = {
        f"{module.name.removeprefix('keystead.')}.{name}"
        for module in _server_modules()
        for name in _declared(module.tree)
        if BOUND.fullmatch(name)
    }
    assert_only(found, NO_CALLER_MEETS, "bounds outside of the bounds module of their package:")


def test_no_refusal_and_no_field_names_another_bound() -> None:
    """What a `raise` names, or the constraint of a field, is a bound that a caller meets."""
    found = set()
    for module in _server_modules():
        own = {name for name in _declared(module.tree) if BOUND.fullmatch(name)}
        for node in ast.walk(module.tree):
            is_meta = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Meta"
            if isinstance(node, ast.Raise) or is_meta:
                named = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} & own
                found |= {f"{module.name.removeprefix('keystead.')}.{name}" for name in named}
    assert_only(found, REFUSALS_NAME, "refusals that name a bound which is not declared in a bounds module:")


@pytest.mark.parametrize("package", limits.PACKAGES)
def test_a_bounds_module_declares_bounds_only(package: str) -> None:
    module = import_module(f"keystead.{package}.bounds")
    bounds = limits.bounds_of(package)
    assert {bound.name for bound in bounds} == {name for name in vars(module) if BOUND.fullmatch(name)}
    assert all(bound.unit and bound.reason.endswith(".") and bound.value >= 0 for bound in bounds)
    assert len({bound.name for bound in bounds}) == len(bounds) > 0


def test_every_bounds_module_is_in_the_page() -> None:
    declared = {name for name in modules() if name.endswith(".bounds")}
    assert declared == {f"keystead.{package}.bounds" for package in limits.PACKAGES}


def test_the_page_of_limits_is_current() -> None:
    assert limits.PAGE.read_text() == limits.page(), "run make generate"


def test_the_page_names_every_bound_and_every_limit() -> None:
    page = limits.page()
    names = [f"`{bound.name}`" for package in limits.PACKAGES for bound in limits.bounds_of(package)]
    names += [f"`KEYSTEAD_LIMIT_{limit.name.upper()}`" for limit in limits.organization_limits()]
    assert len(names) > 100
    assert [name for name in names if name not in page] == []


@pytest.mark.parametrize(
    "text", ["{{chains.NOTHING_MAX}}", "{{nothing.X_MAX}}", "{{limit.nothing}}", "{{setting.nothing}}"]
)
def test_a_name_that_is_not_declared_fails(text: str) -> None:
    with pytest.raises(KeyError):
        limits.filled(text)
