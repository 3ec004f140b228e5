"""What an activity asks: the description of each kind of activity.

Some kinds have a description of their own: signing, exports, policies, the root quorum, IP allow-lists, secrets,
recovery by the operator.
Every other kind is described by its name and its parameters. Here too: who asked for it and who voted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.enums import FINAL_STATUSES
from keystead.api.identifiers import UUID_PATTERN
from keystead.chains.transaction import TransactionView
from keystead.describe.description import ActivityDescription, Fact, Names
from keystead.describe.fields import facts_of
from keystead.describe.parameters import facts_of_parameters, value_in_words
from keystead.describe.payloads import describe_payloads
from keystead.describe.policy_changes import policy_after_update, policy_diff, policy_to_create
from keystead.describe.token_calls import to_checksum_address
from keystead.describe.transactions import describe_transaction, view_of_request

_CREDENTIALS = (("API key", "apiKeys", "apiKeyName"), ("passkey", "authenticators", "authenticatorName"))
"""Each type of credential: its name for people, the member of a user with the list, the member with the name."""


def asker_of(activity: Mapping[str, Any]) -> str:
    """The name of who asked for an activity: its first voter, and the operator of the server if it has no votes."""
    votes = activity.get("votes")
    return name_of(votes[0]) if votes else "the operator"


def name_of(vote: Mapping[str, Any]) -> str:
    """The voter's name; the id if the vote has no user."""
    return str(vote.get("user", {}).get("userName") or vote["userId"])


def credential_of(vote: Mapping[str, Any]) -> str:
    """The credential that stamped the vote, by its name in the voter's record; "" if the vote names no key."""
    user, key = vote.get("user", {}), vote.get("publicKey")
    if not key:
        return ""
    for kind, member, name in _CREDENTIALS:
        for each in user.get(member, ()):
            if each.get("credential", {}).get("publicKey") == key:
                return f"{kind} {each.get(name)!r}"
    return f"a key that is no longer the user's, {key[:20]}…"


Intent = Mapping[str, Any]

_UUID: Final = re.compile(UUID_PATTERN)

_NAME_MEMBERS: Final = (
    "walletName",
    "userName",
    "subOrganizationName",
    "organizationName",
    "userTagName",
    "privateKeyTagName",
    "label",
    "name",
)
"""Members of an intent with the name of what it creates, or with a new name."""


_ITEM_NAMES: Final = ("userName", "receiverUserName", "privateKeyName", "sessionProfileName")
"""Members of an item of a list with the name of what it creates."""


def describe_activity(activity: Mapping[str, Any], names: Names) -> ActivityDescription:
    """What an activity asks. `activity`: its form in the API. `names`: what is known of the organization."""
    kind, intent = activity_kind(activity["type"]), intent_of(activity)
    if activity["status"] in FINAL_STATUSES:
        names = replace(names, policies={})  # the policies of today are not those that the request changed
    describe = _BY_KIND.get(kind)
    if describe is None or not intent:
        return _by_parameters(kind, intent, names)
    return describe(intent, names)


def intent_of(activity: Mapping[str, Any]) -> Intent:
    """The parameters; empty where the activity shows none."""
    intent: Intent = next(iter((activity.get("intent") or {}).values()), {})
    return intent


def mentioned_ids(value: Any) -> set[str]:
    """The ids in an intent, at any depth."""
    match value:
        case str():
            return {value} if _UUID.match(value) else set()
        case Mapping():
            return {id_ for member in value.values() for id_ in mentioned_ids(member)}
        case list() | tuple():
            return {id_ for member in value for id_ in mentioned_ids(member)}
        case _:
            return set()


def transaction_of(activity: Mapping[str, Any]) -> TransactionView | None:
    """The transaction that an activity signs, whose contracts may have interfaces; None if it signs none.

    Raises InvalidRequest if it cannot be read.
    """
    if activity_kind(activity["type"]) != "SIGN_TRANSACTION":
        return None
    intent = intent_of(activity)
    return view_of_request(intent["unsignedTransaction"], intent["type"], _signing_key(intent)) if intent else None


def _signing_key(intent: Intent) -> str:
    return str(intent.get("signWith") or intent.get("privateKeyId") or "")


def _sign_transaction(intent: Intent, names: Names) -> ActivityDescription:
    return describe_transaction(intent["unsignedTransaction"], intent["type"], _signing_key(intent), names)


def _sign_payloads(intent: Intent, _: Names) -> ActivityDescription:
    payloads = intent["payloads"] if "payloads" in intent else [intent["payload"]]
    return describe_payloads(payloads, intent["encoding"], intent["hashFunction"], _signing_key(intent))


def _export(what: str, member: str) -> Callable[[Intent, Names], ActivityDescription]:
    def describe(intent: Intent, names: Names) -> ActivityDescription:
        which = to_checksum_address(names.with_name(intent[member]))
        return ActivityDescription(
            headline=f"Export {what} {which}",
            what=f"export {what.removeprefix('the ')} {which}",
            facts=(
                Fact("of", which),
                Fact("encrypted to", f"the key {intent['targetPublicKey']}"),
            ),
            cautions=(
                "the holder of the private half of that key can use what is exported for ever; no policy applies",
            ),
        )

    return describe


def _create_policies(intent: Intent, _: Names) -> ActivityDescription:
    policies = [policy_to_create(parameters) for parameters in intent.get("policies", (intent,))]
    called = ", ".join(repr(policy["policyName"]) for policy in policies[:3]) + (", …" if len(policies) > 3 else "")
    return ActivityDescription(
        headline=f"Create {'the policy' if len(policies) == 1 else f'{len(policies)} policies:'} {called}",
        what=f"create policy {called}",
        facts=tuple(
            Fact(f"policy {policy['policyName']!r}", "\n".join(policy_diff(None, policy))) for policy in policies
        ),
        cautions=tuple(
            f"{policy['policyName']!r} allows everything to everybody: it has no condition and no consensus"
            for policy in policies
            if policy["effect"] == "EFFECT_ALLOW" and not policy["condition"] and not policy["consensus"]
        ),
    )


def _update_policy(intent: Intent, names: Names) -> ActivityDescription:
    policy = names.policies.get(intent["policyId"])
    called = names.with_name(intent["policyId"])
    if policy is None:
        changes = facts_of({name: value for name, value in intent.items() if name != "policyId"})
    else:
        changes = [Fact("change", "\n".join(policy_diff(policy, policy_after_update(policy, intent))) or "none")]
    return ActivityDescription(
        headline=f"Change the policy {called}",
        what=f"change policy {called}",
        facts=tuple(changes),
    )


def _delete_policies(intent: Intent, names: Names) -> ActivityDescription:
    ids = intent["policyIds"] if "policyIds" in intent else [intent["policyId"]]
    called = ", ".join(map(names.with_name, ids))
    return ActivityDescription(
        headline=f"Delete {'the policy' if len(ids) == 1 else f'{len(ids)} policies:'} {called}",
        what=f"delete policy {called}",
        facts=tuple(
            Fact(f"policy {policy['policyName']!r}", "\n".join(policy_diff(policy, None)))
            for policy in map(names.policies.get, ids)
            if policy is not None
        ),
    )


def _update_root_quorum(intent: Intent, names: Names) -> ActivityDescription:
    members = ", ".join(map(names.with_name, intent["userIds"]))
    threshold = intent["threshold"]
    return ActivityDescription(
        headline=f"Set the root quorum: {threshold} of {members}",
        what=f"set root quorum: {threshold} of {len(intent['userIds'])}",
        facts=(Fact("threshold", str(threshold)), Fact("users", members)),
        cautions=("the root quorum may do everything, whatever policies say",),
    )


def _export_secrets(intent: Intent, names: Names) -> ActivityDescription:
    called = ", ".join(names.with_name(secret["secretId"]) for secret in intent["secrets"])
    return ActivityDescription(
        headline=f"Export {_count_text(intent['secrets'], 'secret')} {called}",
        what=f"export {_count_text(intent['secrets'], 'secret')}",
        facts=tuple(
            Fact(f"encrypted to, {names.with_name(secret['secretId'])}", f"the key {secret['targetPublicKey']}")
            for secret in intent["secrets"]
        ),
        cautions=("the holder of the private half of a key can read the secret for ever; no policy applies",),
    )


def _import_secrets(intent: Intent, _: Names) -> ActivityDescription:
    called = ", ".join(repr(secret["name"]) for secret in intent["secrets"] if secret.get("name"))
    return ActivityDescription(
        headline=f"Import {_count_text(intent['secrets'], 'secret')} {called}".rstrip(),
        what=f"import {_count_text(intent['secrets'], 'secret')}",
        facts=tuple(
            Fact(
                f"properties of {secret.get('name') or 'a secret without a name'}",
                "\n".join(
                    f"{static_property['key']}: {static_property.get('value') or ''}"
                    for static_property in secret.get("staticProperties") or ()
                ),
            )
            for secret in intent["secrets"]
        ),
    )


def _count_text(items: Sequence[Any], name: str) -> str:
    return f"the {name}" if len(items) == 1 else f"{len(items)} {name}s"


def _set_ip_allowlist(intent: Intent, _: Names) -> ActivityDescription:
    key, rules = intent.get("publicKey") or "", intent["rules"]
    whose = f"API key {key}" if key else "the organization"
    is_enforced = bool(key) or bool(intent.get("enabled"))
    cautions: list[str] = []
    if is_enforced and not rules and not key:
        cautions.append("the list has no rules: every request to the organization is refused, from any address")
    elif is_enforced and rules:
        cautions.append("requests from other addresses are refused, also those that would change the list again")
    return ActivityDescription(
        headline=f"{'Set' if is_enforced else 'Store'} the IP allow-list of {whose}",
        what=f"{'set' if is_enforced else 'store'} IP allow-list of {whose}",
        facts=(
            Fact("enforced", "yes" if is_enforced else "no"),
            Fact("networks", "\n".join(f"{rule['cidr']}  {rule.get('label') or ''}".rstrip() for rule in rules)),
            Fact("if the address is unknown", (intent.get("onEvaluationError") or "DENY").lower()),
        ),
        cautions=tuple(cautions),
    )


def _recover_organization(intent: Intent, names: Names) -> ActivityDescription:
    facts: tuple[Fact, ...]
    if "replaceRootCredential" in intent:
        replaced = intent["replaceRootCredential"]
        user, key = names.with_name(replaced["userId"]), replaced["apiKey"]
        what = f"a new API key for {user}"
        removed = "\n".join(replaced.get("lostCredentialIds", ())) or "none"
        facts = (
            Fact("user", user),
            Fact("new API key", f"{key['apiKeyName']!r}, {key['publicKey']}"),
            Fact("removed credentials", removed),
            Fact("MFA policies of the user", "removed"),
        )
    elif "setRootQuorum" in intent:
        quorum = _update_root_quorum(intent["setRootQuorum"], names)
        what, facts = quorum.what, quorum.facts
    else:
        what, facts = "lift the IP allow-list", (Fact("IP allow-list", "on record, and no longer enforced"),)
    return ActivityDescription(
        headline=f"Recovery by the operator: {what}",
        what=f"recovery by the operator: {what}",
        facts=facts,
        cautions=(
            "the operator of this server did it, with keystead recover: no user asked, and no policy decided",
        ),
    )


def _by_parameters(kind: str, intent: Intent, names: Names) -> ActivityDescription:
    words = _WORDS.get(kind) or _kind_in_words(kind)
    named = (intent[member] for member in _NAME_MEMBERS if isinstance(intent.get(member), str))
    subject = next((repr(value_in_words(name)) for name in named), "")
    if not subject:
        subject = ", ".join(_known_names(intent, names))
    headline = f"{words} {subject}".strip()
    return ActivityDescription(
        headline=headline,
        what=headline[:1].lower() + headline[1:],
        facts=tuple(facts_of_parameters(intent, names)),
    )


_ACRONYMS: Final = ("API", "OTP", "MFA", "IP", "ID")


def _kind_in_words(kind: str) -> str:
    words = kind.replace("SUB_ORG", "SUB-ORG").split("_")
    text = " ".join(word if word in _ACRONYMS else word.lower() for word in words).replace("oauth", "OAuth")
    return text[:1].upper() + text[1:]


_WORDS: Final = {
    "CREATE_API_KEYS": "Add an API key for",
    "DELETE_API_KEYS": "Delete an API key of",
    "CREATE_AUTHENTICATORS": "Add a passkey for",
    "DELETE_AUTHENTICATORS": "Delete a passkey of",
    "CREATE_INVITATIONS": "Invite",
    "RECOVER_USER": "Make a passkey with the link that was sent to",
    "CREATE_MFA_POLICY": "Create MFA policy",
    "UPDATE_MFA_POLICY": "Update MFA policy",
    "DELETE_MFA_POLICY": "Delete MFA policy",
    "STAMP_LOGIN": "Log in",
    "OTP_LOGIN": "Log in with a one-time code",
    "OAUTH_LOGIN": "Log in with an account elsewhere",
    "INIT_OTP": "Send a one-time code",
    "VERIFY_OTP": "Check a one-time code",
    "SET_ORGANIZATION_FEATURE": "Turn on a feature of the organization",
    "REMOVE_ORGANIZATION_FEATURE": "Turn off a feature of the organization",
    "REMOVE_IP_ALLOWLIST": "Remove an IP allow-list",
    "ENABLE_AUTH_PROXY": "Turn on an authentication proxy",
    "UPDATE_AUTH_PROXY_CONFIG": "Change an authentication proxy",
    "DISABLE_AUTH_PROXY": "Turn off an authentication proxy",
}
"""Kinds that are not called by their name in the API."""


def _known_names(intent: Intent, names: Names) -> list[str]:
    """The names of the ids in an intent, and of the users that it creates: the first three."""
    known: list[str] = []
    for member in intent.values():
        for value in member if isinstance(member, list | tuple) else (member,):
            if isinstance(value, str) and value in names.of_ids:
                known.append(repr(names.of_ids[value]))
            elif isinstance(value, Mapping):
                known += [repr(value[name]) for name in _ITEM_NAMES if isinstance(value.get(name), str)]
    return known[:3] + (["…"] if len(known) > 3 else [])


_BY_KIND: Final[Mapping[str, Callable[[Intent, Names], ActivityDescription]]] = {
    "SIGN_TRANSACTION": _sign_transaction,
    "SIGN_RAW_PAYLOAD": _sign_payloads,
    "SIGN_RAW_PAYLOADS": _sign_payloads,
    "EXPORT_WALLET": _export("the mnemonic of the wallet", "walletId"),
    "EXPORT_WALLET_ACCOUNT": _export("the private key of the account", "address"),
    "EXPORT_PRIVATE_KEY": _export("the private key", "privateKeyId"),
    "CREATE_POLICY": _create_policies,
    "CREATE_POLICIES": _create_policies,
    "UPDATE_POLICY": _update_policy,
    "DELETE_POLICY": _delete_policies,
    "DELETE_POLICIES": _delete_policies,
    "UPDATE_ROOT_QUORUM": _update_root_quorum,
    "SET_IP_ALLOWLIST": _set_ip_allowlist,
    "RECOVER_ORGANIZATION": _recover_organization,
    "EXPORT_SECRETS": _export_secrets,
    "IMPORT_SECRETS": _import_secrets,
}
