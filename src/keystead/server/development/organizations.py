"""/dev/v1/organizations: makes another organization, with a root user and an API key.

It has no parent, so that a test can make sub-organizations in it and no other user reads it. The server does not
store the private key of the API key: only the answer has it.
"""

from __future__ import annotations

from keystead.api.developer_controls import ORGANIZATIONS, MadeOrganization, NewOrganizationRequest
from keystead.api.errors import Conflict
from keystead.api.records import Timestamp
from keystead.server.development.control import ServedControl
from keystead.server.installation.new_organization import DEVELOPMENT_WALLET, OrganizationParams, new_organization
from keystead.server.sources import Sources
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import generate_api_key
from keystead.storage.store import DatabaseStore


class Organizations:
    def __init__(self, store: DatabaseStore, signer: LocalSigner, sources: Sources) -> None:
        self._store = store
        self._signer = signer
        self._sources = sources

    async def make(self, change: NewOrganizationRequest) -> MadeOrganization:
        sources = self._sources
        key = generate_api_key(seed=sources.entropy(32))
        params = OrganizationParams(
            organization_id=sources.new_id(),
            organization_name=change.name,
            user_id=sources.new_id(),
            user_name="Root user",
            user_email=None,
            api_key_name="Root key",
            api_public_key=key.public_key,
        )
        now = Timestamp.from_ms(sources.clock.now_ms())
        made = await new_organization(
            self._signer,
            params,
            now,
            sources.new_id,
            wallets=[DEVELOPMENT_WALLET] if change.wallet else (),
            has_proxy=change.wallet,
        )
        if not await self._store.add_organization(made.organization, made.attachments, made.lookups):
            raise Conflict("the new organization's id is taken; send the request again")
        return MadeOrganization(
            organization_id=params.organization_id,
            user_id=params.user_id,
            api_public_key=key.public_key,
            api_private_key=key.private_key,
        )

    def control(self) -> ServedControl:
        return ServedControl(declared=ORGANIZATIONS, change=self.make)
