"""The keys of development servers that are published, because they are derived from a seed that is written here.

Without `--fresh` and `--seed`, the first organization of a development server is the same on every machine, and so
everybody has its keys. `keystead serve` lets nobody register one (`published_keys`). Both are made by the same
functions, so that no key of that organization can be missing among the refused ones.
"""

from __future__ import annotations

from typing import Final

from keystead.api.records import Timestamp
from keystead.organizations.credentials.published_keys import PublishedKeys
from keystead.organizations.lookups import LookupKind
from keystead.server.development.seeding import KeySource, seeded_source
from keystead.server.installation.new_organization import OrganizationParams, first_organization
from keystead.signer.local import LocalSigner
from keystead.signer.master_keys import KeyText, open_master_key

PUBLISHED_SEED: Final = "keystead development"


def development_params(source: KeySource) -> OrganizationParams:
    """The first organization of a development server, and its user. Takes two identifiers from the source."""
    return OrganizationParams(
        organization_id=source.new_id(),
        organization_name="Development",
        user_id=source.new_id(),
        user_name="Developer",
        user_email=None,
        api_key_name="Development key",
        api_public_key=source.api_key.public_key,
    )


def is_published(api_public_key: str) -> bool:
    """Whether this is the API key of the published organization's user."""
    return api_public_key == seeded_source(PUBLISHED_SEED).api_key.public_key


async def published_keys() -> PublishedKeys:
    """The public keys of the users of the published organization, and the keys and addresses of its wallet."""
    source = seeded_source(PUBLISHED_SEED)
    assert source.master_key is not None
    signer = LocalSigner(open_master_key(KeyText("", source.master_key.hex())), entropy=source.entropy)
    made = await first_organization(
        signer, development_params(source), Timestamp.from_ms(0), source.new_id, mode="dev"
    )
    keys = {lookup.value for lookup in made.lookups if lookup.kind is LookupKind.PUBLIC_KEY}
    return PublishedKeys(
        frozenset(keys | {account.public_key for account in made.accounts if account.public_key}),
        frozenset(account.address.lower() for account in made.accounts),
    )
