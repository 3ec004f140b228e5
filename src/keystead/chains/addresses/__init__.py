"""From a public key to an address, in every format of the API; and which texts name the same destination. Pure."""
