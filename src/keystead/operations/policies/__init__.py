"""The operations on policies: to change, explain and try them."""
