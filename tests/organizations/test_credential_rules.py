"""The rules of credentials: form, number, which key a new one replaces, and the user of a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest

from keystead.api.enums import ApiKeyCurve, CredentialType
from keystead.api.errors import AlreadyExists, InvalidRequest, LimitReached, Unauthenticated
from keystead.api.parameters import ApiKeyParamsV2, OauthProviderParamsV2, OidcClaims
from keystead.api.records import ApiKey, Credential, User
from keystead.organizations.credentials.api_keys import check_public_keys_free, new_api_key, with_api_keys
from keystead.organizations.credentials.authenticators import (
    check_credential_ids_free,
    check_room_for_authenticators,
)
from keystead.organizations.credentials.credentials import (
    CREDENTIAL_KINDS,
    check_not_held_by_siblings,
    has_lasting_credential,
)
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.credentials.oauth_providers import (
    check_identities_free,
    new_oauth_providers,
    tokens_of,
    with_oauth_providers,
)
from keystead.organizations.limits import Limits
from keystead.organizations.principals import ProvenKey, principal_in
from keystead.stamps.schemes import CREDENTIAL_TYPES, StampScheme
from tests.organizations.records import (
    NOW,
    NOW_MS,
    a_provider,
    a_user,
    an_api_key,
    an_authenticator,
    an_organization,
)

P256, ED25519 = ApiKeyCurve.P256, ApiKeyCurve.ED25519
COMPRESSED = "02" + "ab" * 32


def key_of(public_key: str, curve: ApiKeyCurve = P256, expiration: str | None = None) -> ApiKey:
    params = ApiKeyParamsV2(
        api_key_name="key", public_key=public_key, curve_type=curve, expiration_seconds=expiration
    )
    return new_api_key(params, "id", NOW, "place")


GOOD_KEYS = [
    ("as it is kept", COMPRESSED, P256, COMPRESSED),
    ("in upper case", COMPRESSED.upper(), P256, COMPRESSED),
    ("with 0x", "0x" + COMPRESSED, P256, COMPRESSED),
    ("with 0X", "0X" + COMPRESSED, P256, COMPRESSED),
    ("the other half of the curve", "03" + "ab" * 32, P256, "03" + "ab" * 32),
    ("no point of the curve", "02" + "ff" * 32, P256, "02" + "ff" * 32),
    ("secp256k1", COMPRESSED, ApiKeyCurve.SECP256K1, COMPRESSED),
    ("ed25519", "ab" * 32, ED25519, "ab" * 32),
]


@pytest.mark.parametrize(("name", "text", "curve", "kept"), GOOD_KEYS, ids=[name for name, *_ in GOOD_KEYS])
def test_public_key(name: str, text: str, curve: ApiKeyCurve, kept: str) -> None:
    assert key_of(text, curve).credential.public_key == kept


BAD_KEYS = [
    ("empty", "", P256),
    ("uncompressed", "04" + "ab" * 64, P256),
    ("hybrid", "06" + "ab" * 32, P256),
    ("one byte short", COMPRESSED[:-2], P256),
    ("one digit short", COMPRESSED[:-1], P256),
    ("one byte long", COMPRESSED + "00", P256),
    ("spaces inside", COMPRESSED[:10] + "  " + COMPRESSED[12:], P256),
    ("a line break behind", COMPRESSED + "\n", P256),
    ("tabs inside", COMPRESSED[:2] + "\t\t" + COMPRESSED[2:], P256),
    ("no hex", "02" + "xy" * 32, P256),
    ("digits of another script", "02" + "١٢" * 32, P256),
    ("ed25519 for P-256", "ab" * 32, P256),
    ("P-256 for ed25519", COMPRESSED, ED25519),
]


@pytest.mark.parametrize(("name", "text", "curve"), BAD_KEYS, ids=[name for name, *_ in BAD_KEYS])
def test_malformed_public_key(name: str, text: str, curve: ApiKeyCurve) -> None:
    with pytest.raises(InvalidRequest, match=r"`place\.publicKey`"):
        key_of(text, curve)


@pytest.mark.parametrize(
    ("text", "kept"), [("1", "1"), ("900", "900"), ("0060", "60"), ("3153600000", "3153600000")]
)
def test_expiration(text: str, kept: str) -> None:
    assert key_of(COMPRESSED, expiration=text).expiration_seconds == kept


@pytest.mark.parametrize(
    "text", ["", "0", "000", "-1", "+1", "1.5", "1e3", " 1", "soon", "٣", "3153600001", "9" * 20]
)
def test_malformed_expiration(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"invalid api key expiration: field `place\.expirationSeconds`"):
        key_of(COMPRESSED, expiration=text)


def lasting(count: int) -> list[ApiKey]:
    return [an_api_key() for _ in range(count)]


def expiring(*ages_s: int, after_s: int = 1000) -> list[ApiKey]:
    """One key for each age, which was made that many seconds ago. It expires `after_s` after it was made."""
    return [an_api_key(age_s=age, expires_after_s=after_s) for age in ages_s]


class Eviction(NamedTuple):
    """`gone`: the index among `held` of each key that makes place."""

    name: str
    held: list[ApiKey]
    added: list[ApiKey]
    gone: list[int]


LIMITS = Limits(long_lived_api_keys_per_user=3, expiring_api_keys_per_user=3)
EVICTIONS = [
    Eviction("room for all", lasting(2) + expiring(1, 2), lasting(1) + expiring(0), []),
    Eviction("the oldest makes place", expiring(5, 9, 7), expiring(0), [1]),
    Eviction(
        "an expired one before the oldest",
        [*expiring(500), *expiring(200, after_s=100), *expiring(3)],
        expiring(0),
        [1],
    ),
    Eviction("the oldest of the expired ones", expiring(2000, 3000, 1500), expiring(0), [1]),
    Eviction(
        "one that expires at this moment is expired",
        [*expiring(900), *expiring(100, after_s=100), *expiring(5)],
        expiring(0),
        [1],
    ),
    Eviction("two make place for two", expiring(5, 9, 7), expiring(0, 0), [1, 2]),
    Eviction("lasting keys make place for nobody", [*lasting(3), *expiring(1, 2, 3)], expiring(0), [5]),
    Eviction("of the same age the one with the lower id", expiring(4, 4, 4), expiring(0), [0]),
]


@pytest.mark.parametrize("case", EVICTIONS, ids=lambda case: case.name)
def test_eviction(case: Eviction) -> None:
    kept = with_api_keys(case.held, case.added, LIMITS, NOW_MS)
    held = [key for index, key in enumerate(case.held) if index not in case.gone]
    assert kept == (*held, *case.added)


def test_added_keys_replace_older_added_keys() -> None:
    added = expiring(4, 3, 2, 1)
    assert with_api_keys([], added, LIMITS, NOW_MS) == tuple(added[1:])


def test_a_long_lived_key_replaces_no_key() -> None:
    with pytest.raises(LimitReached, match="maximum long-lived api keys: 3"):
        with_api_keys(lasting(3), lasting(1), LIMITS, NOW_MS)


def test_no_expiring_keys_at_all() -> None:
    with pytest.raises(LimitReached, match="short-lived"):
        with_api_keys([], expiring(0), Limits(expiring_api_keys_per_user=0), NOW_MS)


def test_numbers_of_authenticators_and_providers() -> None:
    limits = Limits(authenticators_per_user=2, oauth_providers_per_user=2)
    providers = [a_provider() for _ in range(2)]
    check_room_for_authenticators(1, 1, limits)
    assert with_oauth_providers(providers[:1], providers[1:], limits) == tuple(providers)
    with pytest.raises(LimitReached, match="maximum authenticators: 2"):
        check_room_for_authenticators(2, 1, limits)
    with pytest.raises(LimitReached, match="maximum oauth providers: 2"):
        with_oauth_providers(providers, [a_provider()], limits)


def test_a_public_key_is_unique_in_an_organization() -> None:
    held = an_api_key()
    organization = an_organization(a_user(api_keys=(held,)))
    check_public_keys_free(organization, [an_api_key(), an_api_key()])
    for taken in ([held], [one := an_api_key(), one]):
        with pytest.raises(InvalidRequest, match=taken[0].credential.public_key):
            check_public_keys_free(organization, taken)


def test_a_credential_id_is_unique_in_an_organization() -> None:
    held = an_authenticator()
    organization = an_organization(a_user(authenticators=(held,)))
    check_credential_ids_free(organization, [an_authenticator(), an_authenticator()])
    for taken in ([held], [one := an_authenticator(), one]):
        with pytest.raises(InvalidRequest, match=taken[0].credential_id):
            check_credential_ids_free(organization, taken)


def test_an_identity_is_unique_in_an_organization() -> None:
    organization = an_organization(a_user(oauth_providers=(a_provider(),)))
    others = [a_provider(subject="eve"), a_provider(audience="others"), a_provider(issuer="https://other.example")]
    check_identities_free(organization, others)
    with pytest.raises(AlreadyExists) as refused:
        check_identities_free(organization, [a_provider(provider_name="another name")])
    assert refused.value.machine_code == "OAUTH_PROVIDER_ALREADY_EXISTS"


CLAIMS = OidcClaims(iss="i", sub="s", aud="a")
PROVEN = ProvenIdentity(iss="i", sub="s", aud="a")
BY_TOKEN = OauthProviderParamsV2(provider_name="p", oidc_token="t")
VERIFIED = {"place[1].oidcToken": PROVEN}


def by_claims(iss: str = "i", sub: str = "s", aud: str = "a") -> OauthProviderParamsV2:
    return OauthProviderParamsV2(provider_name="p", oidc_claims=OidcClaims(iss=iss, sub=sub, aud=aud))


def new_providers(
    *params: OauthProviderParamsV2, verified: Mapping[str, ProvenIdentity] = VERIFIED, claims_vouched: bool = False
) -> list[tuple[str, str, str]]:
    made = new_oauth_providers(params, verified, lambda: "id", NOW, "place", claims_vouched=claims_vouched)
    return [(one.issuer, one.subject, one.audience) for one in made]


def test_a_token_proves_its_identity_only_if_it_was_verified() -> None:
    assert new_providers(BY_TOKEN, verified={"place[0].oidcToken": PROVEN}) == [("i", "s", "a")]
    with pytest.raises(InvalidRequest, match=r"`place\[0\]\.oidcToken`: it was not verified") as refused:
        new_providers(BY_TOKEN)
    assert refused.value.machine_code == "INVALID_OIDC_TOKEN"


def test_claims_are_proven_by_a_token_of_the_same_issuer_and_subject_beside_them() -> None:
    assert new_providers(by_claims(aud="b"), BY_TOKEN) == [("i", "s", "b"), ("i", "s", "a")]


@pytest.mark.parametrize("params", [by_claims(iss="j"), by_claims(sub="t")], ids=["issuer", "subject"])
def test_claims_of_another_issuer_or_subject_are_not_proven(params: OauthProviderParamsV2) -> None:
    with pytest.raises(InvalidRequest, match=r"`place\[0\]\.oidcClaims`: nothing proves them") as refused:
        new_providers(params, BY_TOKEN)
    assert refused.value.machine_code == "INVALID_OIDC_TOKEN"


def test_a_user_of_the_parent_may_add_claims_without_proof() -> None:
    assert new_providers(by_claims(), claims_vouched=True) == [("i", "s", "a")]


def test_one_of_token_and_claims() -> None:
    both = OauthProviderParamsV2(provider_name="p", oidc_token="t", oidc_claims=CLAIMS)
    for neither_or_both in (OauthProviderParamsV2(provider_name="p"), both):
        with pytest.raises(InvalidRequest, match=r"`place\[0\]`: expected either"):
            new_providers(neither_or_both, claims_vouched=True)


def test_what_a_sibling_holds_is_refused() -> None:
    check_not_held_by_siblings(frozenset({"02aa"}), ["02bb"])
    with pytest.raises(InvalidRequest, match="credential 02aa is held in another sub-organization") as refused:
        check_not_held_by_siblings(frozenset({"02aa"}), ["02bb", "02aa"])
    assert refused.value.machine_code == "CREDENTIAL_CONFLICT"


def test_tokens_by_their_fields() -> None:
    claims = OidcClaims(iss="i", sub="s", aud="a")
    providers = [
        OauthProviderParamsV2(provider_name="p", oidc_claims=claims),
        OauthProviderParamsV2(provider_name="p", oidc_token="t"),
    ]
    assert tokens_of(providers, "parameters.list") == {"parameters.list[1].oidcToken": "t"}


LASTING: list[tuple[str, dict[str, Any], bool]] = [
    ("nothing", {}, False),
    ("a key", {"api_keys": tuple(lasting(1))}, True),
    ("a key that expires", {"api_keys": tuple(expiring(0))}, False),
    ("both", {"api_keys": (*expiring(0), *lasting(1))}, True),
    ("a passkey", {"authenticators": (an_authenticator(),)}, True),
    ("an identity", {"oauth_providers": (a_provider(),)}, True),
    ("an e-mail address", {"user_email": "ada@example.com"}, False),
]


@pytest.mark.parametrize(("name", "members", "expected"), LASTING, ids=[name for name, *_ in LASTING])
def test_lasting_credential(name: str, members: dict[str, Any], expected: bool) -> None:
    assert has_lasting_credential(a_user(**members)) == expected


def proven(key: ApiKey, scheme: StampScheme = StampScheme.API_P256) -> ProvenKey:
    return ProvenKey(
        public_key=key.credential.public_key,
        signature="",
        scheme=scheme,
        credential_types=CREDENTIAL_TYPES[scheme],
    )


EXPIRY = [(999, True), (1000, False), (1001, False)]


@pytest.mark.parametrize(("age_s", "is_valid"), EXPIRY)
def test_a_key_is_valid_until_its_last_second(age_s: int, is_valid: bool) -> None:
    (key,) = expiring(age_s)
    user: User = a_user(api_keys=(key,))
    if is_valid:
        assert principal_in(an_organization(user), proven(key), NOW_MS).user == user  # type: ignore[union-attr]
    else:
        with pytest.raises(Unauthenticated, match="expired api key"):
            principal_in(an_organization(user), proven(key), NOW_MS)


FITTING = [
    (CredentialType.API_KEY_P256, StampScheme.API_P256, True),
    (CredentialType.LOGIN, StampScheme.API_P256, True),
    (CredentialType.API_KEY_SECP256K1, StampScheme.API_SECP256K1, True),
    (CredentialType.API_KEY_SECP256K1, StampScheme.API_SECP256K1_EIP191, True),
    (CredentialType.API_KEY_P256, StampScheme.API_SECP256K1, False),
    (CredentialType.API_KEY_SECP256K1, StampScheme.API_P256, False),
    (CredentialType.API_KEY_ED25519, StampScheme.API_ED25519, True),
    (CredentialType.LOGIN, StampScheme.API_ED25519, False),
]


@pytest.mark.parametrize(("kind", "scheme", "fits"), FITTING)
def test_a_scheme_fits_the_key_on_record(kind: CredentialType, scheme: StampScheme, fits: bool) -> None:
    key = an_api_key(credential=Credential(public_key="02ab", type=kind))
    organization = an_organization(a_user(api_keys=(key,)))
    if fits:
        assert principal_in(organization, proven(key, scheme), NOW_MS) is not None
    else:
        with pytest.raises(Unauthenticated, match="does not fit"):
            principal_in(organization, proven(key, scheme), NOW_MS)


def test_a_passkey_identifies_its_user_only_with_the_recorded_key() -> None:
    passkey = an_authenticator()
    user = a_user(authenticators=(passkey,))
    asserted = ProvenKey(
        public_key=passkey.credential.public_key,
        signature="",
        scheme="SIGNATURE_SCHEME_TK_WEBAUTHN",
        credential_types=frozenset({CredentialType.WEBAUTHN_AUTHENTICATOR}),
        credential_id=passkey.credential_id,
    )
    found = principal_in(an_organization(user), asserted, NOW_MS)
    assert found is not None
    assert (found.user, found.record_id) == (user, passkey.authenticator_id)
    other = a_user(authenticators=(an_authenticator(credential_id=passkey.credential_id),))
    assert principal_in(an_organization(other), asserted, NOW_MS) is None
    assert principal_in(an_organization(a_user()), asserted, NOW_MS) is None


def test_the_kinds_are_all_lists_of_credentials_that_a_user_has() -> None:
    """What holds for all credentials, such as the removal of lost ones, reads `CREDENTIAL_KINDS`."""
    lists = {name: get_args(kind)[0] for name, kind in get_type_hints(User).items() if get_origin(kind) is tuple}
    del lists["user_tags"], lists["mfa_policies"]
    assert {kind.field for kind in CREDENTIAL_KINDS} == lists.keys()
    for kind in CREDENTIAL_KINDS:
        assert kind.id_field in lists[kind.field].__struct_fields__
