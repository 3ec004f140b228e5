"""Random histories of an organization: users submit and vote, and the invariants hold after each step.

KEYSTEAD_TEST_MODEL_EXAMPLES sets how many histories.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import User
from keystead.organizations.attachments import ChangedAccount, SealedSecret
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, Version, from_records, records_of
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.organization_writer import ATTEMPTS
from keystead.pipeline.store import CommitResult
from tests.support.approval_flows import ASKED
from tests.support.examples import examples
from tests.support.issuers import ISSUER
from tests.support.memory_database import by_what_found
from tests.support.organization_harness import DAY_MS, OrganizationHarness, Person, public_key
from tests.support.replay import replayed

LIMITS = Limits(
    users=8, tags=3, policies=5, private_keys=3, long_lived_api_keys_per_user=3, expiring_api_keys_per_user=2
)
NAMES = [f"user {number}" for number in range(6)]
KEYS = [f"key {number}" for number in range(8)]
"""Few, so that they collide."""

CONSENSUSES = ["", "approvers.count() >= 2", "approvers.count() >= 3", "credentials.count() >= 2"]
CONDITIONS = [
    "",
    "activity.resource == 'USER'",
    "activity.resource == 'CREDENTIAL'",
    "activity.resource in ['WALLET', 'POLICY']",
    "activity.action == 'DELETE'",
    "activity.params.user_ids.count() == 1",
]
FEATURES = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_SMS_AUTH"]
MFA_TYPES = ["AUTHENTICATION_TYPE_API_KEY"] * 4 + ["AUTHENTICATION_TYPE_EMAIL_OTP"]

picks = st.integers(0, 11)
few = st.lists(picks, max_size=3)


def can_come_back(user: User, organization: Organization) -> bool:
    """Whether the user has a credential that lasts, or a contact whose login is on."""
    features = organization.profile.features
    lasting = any(key.expiration_seconds is None for key in user.api_keys) or user.oauth_providers
    by_contact = (user.user_email and FEATURES[0] in features) or (
        user.user_phone_number and FEATURES[1] in features
    )
    return bool(lasting or by_contact)


class Life(RuleBasedStateMachine):
    """Numbers pick from what there is. A refusal is as good an answer as any, and changes nothing."""

    @initialize(threshold=st.integers(1, 2))
    def bootstrap(self, threshold: int) -> None:
        people = [
            Person("R1"),
            Person("R2"),
            Person("R3", tags=("OPS",)),
            Person("Ana", tags=("OPS",)),
            Person("Ben"),
        ]
        self.harness = OrganizationHarness(*people, root=["R1", "R2", "R3"], threshold=threshold, limits=LIMITS)
        self.open_activities = OpenActivities(self.harness.environments[0])
        self.ended: dict[str, RecordedActivity] = {}
        self.versions = 1

    def pick(self, ids: Any, number: int) -> str:
        found = sorted(ids)
        return found[number % len(found)] if found else self.harness.ids()

    def user_id(self, number: int) -> str:
        return self.pick(self.harness.organization.users, number)

    def submit(self, who: int, name: str, parameters: dict[str, Any]) -> None:
        """By the user that `who` picks, with the first or the last of that user's keys."""
        harness, before = self.harness, self.harness.organization
        user = before.users[self.user_id(who)]
        keys = [
            key for key in user.api_keys if (key.expires_at_ms or harness.clock.ms + DAY_MS) > harness.clock.ms + 1
        ]
        if not keys:
            return
        label = next(
            each
            for each in [*KEYS, *harness.user_ids]
            if public_key(each) == keys[-(who % 2)].credential.public_key
        )
        try:
            activity = harness.submit(user.user_name, name, parameters, label)
        except ServiceError as refused:
            assert refused.http_status < 500, refused
            assert harness.organization is before
            return
        if activity.status is not ActivityStatus.COMPLETED:
            assert harness.organization is before
        self.versions += harness.organization is not before

    @rule(
        who=picks,
        name=st.sampled_from(["create_wallet", "create_policy", "create_users", "create_sub_organization"]),
    )
    def asks(self, who: int, name: str) -> None:
        self.submit(
            who, name, ASKED[name](self.harness) if name != "create_users" else {"users": [self.new_user(who)]}
        )

    def new_user(self, number: int, **members: Any) -> dict[str, Any]:
        return {
            "userName": NAMES[number % len(NAMES)],
            "apiKeys": [self.key(number)],
            "authenticators": [],
            "oauthProviders": [],
            "userTags": [],
        } | members

    def key(self, number: int, **members: Any) -> dict[str, Any]:
        label = KEYS[number % len(KEYS)]
        return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"} | members

    @rule(who=picks, number=picks, phone=st.booleans())
    def adds_a_user_without_key(self, who: int, number: int, phone: bool) -> None:
        contact = {"userPhoneNumber": "+14155550123"} if phone else {"userEmail": "a@example.com"}
        self.submit(who, "create_users", {"users": [self.new_user(number, apiKeys=[], **contact)]})

    @rule(who=picks, number=picks)
    def takes_contacts_away(self, who: int, number: int) -> None:
        self.submit(who, "update_user", {"userId": self.user_id(number), "userEmail": "", "userPhoneNumber": ""})

    @rule(who=picks, numbers=few)
    def deletes_users(self, who: int, numbers: list[int]) -> None:
        self.submit(
            who, "delete_users", {"userIds": [self.user_id(number) for number in numbers] or [self.harness.id]}
        )

    @rule(who=picks, number=picks, seconds=st.sampled_from([None, "60", "100000"]))
    def adds_a_key(self, who: int, number: int, seconds: str | None) -> None:
        members = {"expirationSeconds": seconds} if seconds else {}
        self.submit(who, "create_api_keys", {"userId": self.user_id(who), "apiKeys": [self.key(number, **members)]})

    @rule(who=picks, number=picks)
    def deletes_a_key(self, who: int, number: int) -> None:
        user = self.harness.organization.users[self.user_id(number)]
        gone = self.pick([key.api_key_id for key in user.api_keys], number)
        self.submit(who, "delete_api_keys", {"userId": user.user_id, "apiKeyIds": [gone]})

    @rule(who=picks, number=picks, subject=picks)
    def attaches_an_identity(self, who: int, number: int, subject: int) -> None:
        token = ISSUER.token(self.harness.clock.ms // 1000, "EdDSA", sub=str(subject))
        provider = {"providerName": "p", "oidcToken": token}
        asked = {"userId": self.user_id(number), "oauthProviders": [provider]}
        self.submit(who, "create_oauth_providers", asked)

    @rule(who=picks, number=picks)
    def detaches_an_identity(self, who: int, number: int) -> None:
        user = self.harness.organization.users[self.user_id(number)]
        gone = self.pick([one.provider_id for one in user.oauth_providers], number)
        self.submit(who, "delete_oauth_providers", {"userId": user.user_id, "providerIds": [gone]})

    @rule(who=picks, numbers=few)
    def tags(self, who: int, numbers: list[int]) -> None:
        user_ids = [self.user_id(number) for number in numbers]
        self.submit(who, "create_user_tag", {"userTagName": NAMES[who % 4], "userIds": user_ids})

    @rule(who=picks, number=picks, into=few)
    def moves_a_tag(self, who: int, number: int, into: list[int]) -> None:
        tag_id = self.pick(self.harness.organization.tags, number)
        added = sorted({self.user_id(each) for each in into})
        self.submit(who, "update_user_tag", {"userTagId": tag_id, "addUserIds": added, "removeUserIds": []})

    def wallet_id(self, number: int) -> str:
        return self.pick(self.harness.organization.wallets, number)

    def account_id(self, number: int) -> str:
        held = self.harness.database.attached_rows(ChangedAccount, self.harness.id)
        return self.pick([one.account.wallet_account_id for one in held], number)

    @rule(who=picks, number=picks, named=st.booleans(), persist=st.sampled_from([True, True, True, False]))
    def derives_accounts(self, who: int, number: int, named: bool, persist: bool) -> None:
        account = {
            "curve": "CURVE_SECP256K1",
            "pathFormat": "PATH_FORMAT_BIP32",
            "path": f"m/{number % 4}",
            "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
        } | ({"name": NAMES[number % 4]} if named else {})
        asked = {"walletId": self.wallet_id(number), "accounts": [account], "persist": persist}
        self.submit(who, "create_wallet_accounts", asked)

    @rule(who=picks, number=picks)
    def names_an_account(self, who: int, number: int) -> None:
        asked = {"walletAccountId": self.account_id(number), "name": NAMES[who % 4]}
        self.submit(who, "update_wallet_account_name", asked)

    @rule(who=picks, numbers=st.lists(picks, min_size=1, max_size=2), without_export=st.booleans())
    def deletes_accounts(self, who: int, numbers: list[int], without_export: bool) -> None:
        gone = [self.account_id(number) for number in numbers]
        asked = {"walletAccountIds": gone, "deleteWithoutExport": without_export}
        self.submit(who, "delete_wallet_accounts", asked)

    @rule(who=picks, number=picks)
    def deletes_a_wallet(self, who: int, number: int) -> None:
        self.submit(who, "delete_wallets", {"walletIds": [self.wallet_id(number)], "deleteWithoutExport": True})

    @rule(who=picks, number=picks)
    def makes_a_private_key(self, who: int, number: int) -> None:
        key = {
            "privateKeyName": NAMES[number % 4],
            "curve": "CURVE_SECP256K1",
            "privateKeyTags": [],
            "addressFormats": ["ADDRESS_FORMAT_ETHEREUM"],
        }
        self.submit(who, "create_private_keys", {"privateKeys": [key]})

    @rule(who=picks, number=picks)
    def deletes_a_private_key(self, who: int, number: int) -> None:
        gone = self.pick(self.harness.organization.private_keys, number)
        self.submit(who, "delete_private_keys", {"privateKeyIds": [gone], "deleteWithoutExport": True})

    @rule(who=picks, number=picks)
    def deletes_a_tag(self, who: int, number: int) -> None:
        self.submit(who, "delete_user_tags", {"userTagIds": [self.pick(self.harness.organization.tags, number)]})

    @rule(
        who=picks,
        effect=st.sampled_from(["EFFECT_ALLOW", "EFFECT_ALLOW", "EFFECT_DENY"]),
        consensus=st.sampled_from(CONSENSUSES),
        condition=st.sampled_from(CONDITIONS),
    )
    def adds_a_policy(self, who: int, effect: str, consensus: str, condition: str) -> None:
        named = {"policyName": NAMES[who % len(NAMES)], "effect": effect}
        self.submit(who, "create_policy", named | {"consensus": consensus, "condition": condition})

    @rule(who=picks, number=picks)
    def deletes_a_policy(self, who: int, number: int) -> None:
        self.submit(who, "delete_policy", {"policyId": self.pick(self.harness.organization.policies, number)})

    @rule(who=picks, number=picks, type_=st.sampled_from(MFA_TYPES))
    def asks_for_proofs(self, who: int, number: int, type_: str) -> None:
        steps = [{"any": [{"type": MFA_TYPES[0]}]}, {"any": [{"type": type_}]}][number % 2 :]
        policy = {"mfaPolicyName": "m", "condition": CONDITIONS[number % 4], "order": number}
        asked = {"userId": self.user_id(number), "requiredAuthenticationMethods": steps}
        self.submit(who, "create_mfa_policy", policy | asked)

    @rule(who=picks, threshold=st.integers(0, 2), numbers=st.lists(picks, min_size=1, max_size=4))
    def changes_the_quorum(self, who: int, threshold: int, numbers: list[int]) -> None:
        members = [self.user_id(number) for number in numbers]
        self.submit(who, "update_root_quorum", {"threshold": threshold, "userIds": members})

    @rule(who=picks, name=st.sampled_from(FEATURES), on=st.booleans())
    def switches_a_feature(self, who: int, name: str, on: bool) -> None:
        self.submit(who, f"{'set' if on else 'remove'}_organization_feature", {"name": name})

    @rule(who=picks, number=picks, approves=st.sampled_from([True, True, True, True, False]))
    def votes(self, who: int, number: int, approves: bool) -> None:
        waiting = [one.fingerprint for one in self.harness.activities() if one.status not in FINAL_STATUSES]
        if waiting:
            asked = {"fingerprint": self.pick(waiting, number)}
            self.submit(who, "approve_activity" if approves else "reject_activity", asked)

    @rule(number=picks)
    def everybody_approves(self, number: int) -> None:
        waiting = [one.fingerprint for one in self.harness.activities() if one.status not in FINAL_STATUSES]
        if waiting:
            asked = {"fingerprint": self.pick(waiting, number)}
            for who in range(len(self.harness.organization.users)):
                self.submit(who, "approve_activity", asked)
                self.submit(who + len(self.harness.organization.users), "approve_activity", asked)

    @rule(races=st.integers(1, ATTEMPTS - 1))
    def others_are_faster(self, races: int) -> None:
        """The next submission loses this many races, and locks the organization."""
        lost = [CommitResult.CONFLICT] * races
        self.harness.stores[0].interfere = lambda commit: lost.pop() if lost else None

    @rule(by=st.sampled_from([1_000, 120_000, DAY_MS]))
    def time_goes_on(self, by: int) -> None:
        self.harness.clock.ms += by

    @invariant()
    def it_is_not_locked(self) -> None:
        assert not self.harness.database.locked

    @invariant()
    def somebody_governs(self) -> None:
        organization = self.harness.organization
        quorum = organization.profile.root_quorum
        assert 1 <= quorum.threshold <= len(set(quorum.user_ids)) == len(quorum.user_ids)
        for user_id in quorum.user_ids:
            assert can_come_back(organization.users[user_id], organization)

    @invariant()
    def everybody_can_come_back(self) -> None:
        for user in self.harness.organization.users.values():
            assert can_come_back(user, self.harness.organization)
            assert sum(key.expiration_seconds is None for key in user.api_keys) <= 3
            assert sum(key.expiration_seconds is not None for key in user.api_keys) <= 2
            assert set(user.user_tags) <= set(self.harness.organization.tags)

    @invariant()
    def no_credential_belongs_to_two(self) -> None:
        users = self.harness.organization.users.values()
        keys = [key.credential.public_key for user in users for key in user.api_keys]
        identities = [(one.issuer, one.audience, one.subject) for user in users for one in user.oauth_providers]
        for held in (keys, identities):
            assert len(set(held)) == len(held)
        assert set(keys) == set(self.harness.organization.users.by_public_key)

    @invariant()
    def accounts_and_secrets_belong_to_what_is_there(self) -> None:
        organization, database = self.harness.organization, self.harness.database
        accounts = database.attached_rows(ChangedAccount, organization.id)
        names = [one.account.name for one in accounts if one.account.name is not None]
        places = [(one.account.wallet_id, one.normalized_path) for one in accounts]
        assert len(set(names)) == len(names)
        assert len(set(places)) == len(places)
        assert {wallet_id for wallet_id, _ in places} <= set(organization.wallets)
        held = sorted(one.record_id for one in database.attached_rows(SealedSecret, organization.id))
        assert held == sorted([*organization.wallets, *organization.private_keys])

    @invariant()
    def each_vote_counts_once(self) -> None:
        for activity in self.harness.activities():
            voters = [vote.user_id for vote in activity.votes]
            assert len(set(voters)) == len(voters)

    @invariant()
    def what_has_ended_stays(self) -> None:
        for activity in self.harness.activities():
            if activity.status in FINAL_STATUSES:
                assert self.ended.setdefault(activity.id, activity) == activity
                assert (activity.failure is not None) == (activity.status is ActivityStatus.FAILED)

    @invariant()
    def each_change_is_one_version(self) -> None:
        organization = self.harness.organization
        assert organization.version.number == self.versions
        same = from_records(organization.id, organization.version, records_of(organization))
        assert same == organization, "its indexes are those of its records"

    @invariant()
    def it_is_found_by_what_it_has(self) -> None:
        database = self.harness.database
        for organization in database.organizations.values():
            accounts = database.attached_rows(ChangedAccount, organization.id)
            assert database.lookups[organization.id] == by_what_found(organization, accounts)

    @invariant()
    def remembered_vote_rights_are_those_of_now(self) -> None:
        harness = self.harness
        waiting = [one for one in harness.activities() if one.status not in FINAL_STATUSES]
        for activity in waiting[-1:]:
            for user_id in harness.organization.users:
                remembered, computed = (
                    harness.run(each.vote_rights(each.now(activity), harness.organization, user_id))
                    for each in (self.open_activities, OpenActivities(harness.environments[0]))
                )
                assert remembered == computed

    def teardown(self) -> None:
        """The record of activities, from the beginning, leads to the same organizations."""
        harness = self.harness
        evaluations = harness.database.evaluations.get(harness.id, [])
        again, below = harness.run(replayed(harness.first_version, harness.activities(), evaluations, LIMITS))
        assert again == harness.organization
        made = {one.id: one for one in harness.database.organizations.values() if one.id != harness.id}
        assert {one.id: one for one in below} == made
        assert all(one.version.number == Version(1, "").number for one in below)


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=examples(30),
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
