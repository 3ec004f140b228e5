"""Bootstrap: an installation's first organization, its root user with an API key, the server's own keys.

Here: writing them in one transaction. Not here: the records (`new_organization`), the commands that call this
(`cli`).

Bootstrap does not use the pipeline: no organization exists whose user could submit it, and no policy that could
authorize it. Its caller is the operator, who has the database and the master key. It leaves no activity.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Literal

from keystead.api.records import Timestamp
from keystead.api.rendering import encode
from keystead.server.development.published import published_keys
from keystead.server.installation.dates import MASTER_KEY_SINCE, MasterKeySince
from keystead.server.installation.new_organization import (
    OrganizationParams,
    UnstoredOrganization,
    first_organization,
)
from keystead.server.opening import MODE
from keystead.signer.local import LocalSigner
from keystead.signer.master_keys import Master
from keystead.storage.store import DatabaseStore


async def bootstrap(
    store: DatabaseStore,
    *,
    mode: Literal["dev", "serve"],
    master_key: Master,
    first: OrganizationParams,
    now_ms: int,
    new_id: Callable[[], str],
    entropy: Callable[[int], bytes] = secrets.token_bytes,
) -> UnstoredOrganization | None:
    """Write the first organization. Returns None and changes nothing if the database holds one already.

    `mode`: see `first_organization`. `entropy(n)` returns n random bytes for
    the server's own keys; a development server with a seed passes its own. Raises InvalidRequest for a malformed
    name, e-mail address or key, and, in mode "serve", for a published key.
    """
    signer = LocalSigner(master_key, entropy=entropy)
    made = await first_organization(signer, first, Timestamp.from_ms(now_ms), new_id, mode=mode)
    if mode == "serve":
        (await published_keys()).check(made.lookups)
    written = await store.bootstrap(
        made.organization,
        made.attachments,
        made.lookups,
        {
            MODE: mode.encode(),
            MASTER_KEY_SINCE: encode(MasterKeySince(master_key.key_id, now_ms)),
            **{name: encode(value) for name, value in signer.new_installation_keys().values().items()},
        },
    )
    return made if written else None
