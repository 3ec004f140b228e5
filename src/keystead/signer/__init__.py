"""The signer as a process of its own: the calls that cross to it, its confinement, its start and restart.

Not here: what a signer does with keys (`keys`), and who asks it (`activities`, `server`).
"""
