"""Hostile input against Keystead: `python -m fuzz --minutes 10`.

Four parts share the time. `requests`: mutated requests to every operation over HTTP. `decoders`: mutated
transactions, typed data and interfaces. `properties`: the property tests against independent readers, with new
seeds. `delays`: the worst request that is known for each operation and decoder, and how long another tenant waits.
"""
