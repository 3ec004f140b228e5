"""Recovery keys in tests, of users of a server that keeps its messages."""

from __future__ import annotations

from typing import Any

from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.stamps.signing import ApiKeyPair
from tests.support import bundles
from tests.support.callers import Caller


def recovery_params(email: str, target_public_key: str, **others: Any) -> dict[str, Any]:
    custom = {"emailCustomization": {"appName": "Wallets"}}
    return {"email": email, "targetPublicKey": target_public_key, **custom, **others}


def recovering(by: Caller, user: Caller, **parameters: Any) -> Caller:
    """The user with the recovery key of a new e-mail. `by`: who starts the recovery, in the user's organization.
    Its feature is switched on if it is not."""
    features = {one["name"] for one in user.asked("get_organization_configs")["configs"]["features"]}
    if "FEATURE_NAME_EMAIL_RECOVERY" not in features:
        user.submitted("set_organization_feature", {"name": "FEATURE_NAME_EMAIL_RECOVERY"})
    email, client = user.asked("get_user", userId=user.user_id)["user"]["userEmail"], bundles.fresh()
    outbox = DevelopmentOutbox(str(by.http.base_url).rstrip("/"))
    before = len(outbox.messages(email))
    started = by.with_key(by.key, by.user_id, user.organization_id)
    started.submitted("init_user_email_recovery", recovery_params(email, bundles.point(client).hex(), **parameters))
    bundle = outbox.wait_for(email, count=before + 1).secret
    key = bundles.credential(bundle, client)
    pair = ApiKeyPair(bundles.compressed(key).hex(), bundles.scalar(key).hex())
    return user.with_key(pair, user.user_id)
