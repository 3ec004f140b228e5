"""The signer: the only code that handles plaintext key material, in a process of its own.

`local` carries out the calls; `rpc`, `client`, `connector` transport them to the process; `process`,
`confinement`, `supervision` run it; `master_keys`, `resealing` are for the commands that handle master keys. Not
here: who may use a key (`pipeline`, `policies`).
"""
