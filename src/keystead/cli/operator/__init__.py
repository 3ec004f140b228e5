"""The commands of operators, at the machine: serve, init, check, backup, recover, rotate, keys."""
