"""Chains and formats: addresses, transactions, typed data, contract interfaces. Public bytes only. Pure."""
