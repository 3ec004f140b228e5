"""Private keys, with a look-up by address. Not here: their sealed material, which has a table (`attachments`)."""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.records import PrivateKey
from keystead.chains.addresses.stored_forms import stored_form
from keystead.organizations.limits import Limit
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.record_map import RecordMap
from keystead.organizations.value_index import ValueIndex, with_id, without_id

PRIVATE_KEYS = Limit(
    name="private_keys",
    default=1_000,
    description="Most private keys of an organization.",
    called="private keys",
)


class PrivateKeys(RecordMap[PrivateKey], frozen=True):
    """`by_address` maps an address in its `stored_form` to the ids of the private keys that have it, oldest
    first."""

    stored_name = "private_key"
    record = PrivateKey
    id_field = "private_key_id"
    limits = (PRIVATE_KEYS,)
    label_field = "private_key_name"
    has_index = True

    by_address: ValueIndex = PersistentMap()

    def oldest_with_address(self, form: str) -> str | None:
        """The id of the oldest private key with this address, in the form of `stored_form`."""
        ids = self.by_address.get(form)
        return ids[0] if ids else None

    def _index(self, record: PrivateKey) -> PrivateKeys:
        by_address = self.by_address
        for form in _forms(record):
            by_address = with_id(by_address, form, record.private_key_id)
        return replace(self, by_address=by_address)

    def _unindex(self, record: PrivateKey) -> PrivateKeys:
        by_address = self.by_address
        for form in _forms(record):
            by_address = without_id(by_address, form, record.private_key_id)
        return replace(self, by_address=by_address)


def _forms(key: PrivateKey) -> set[str]:
    return {stored_form(address.format, address.address) for address in key.addresses}
