"""The work on a whole installation: its first organization, checks, recovery, rotation of the master key,
purging."""
