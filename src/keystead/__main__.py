"""`python -m keystead` is the command `keystead`."""

from keystead.cli.main import main

main()
