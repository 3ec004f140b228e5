"""The signer: the only code that handles plaintext key material, in a process of its own.

`local` carries out the calls; `rpc`, `client`, `connector` bring them to the process; `process`, `confinement`,
`supervision` run it; `master_keys`, `resealing` serve the commands that deal with master keys. Not here: what a
caller may ask for (`pipeline`, `policies`).
"""
