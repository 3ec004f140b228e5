"""From a public key to an address, in every format of the API.

Here: what the rest of the service asks for. The formats are in modules by family.
"""

from keystead.chains.addresses.formats import address, caip2_prefix, require_encodable
from keystead.chains.addresses.text import base58, base58check

__all__ = ["address", "base58", "base58check", "caip2_prefix", "require_encodable"]
