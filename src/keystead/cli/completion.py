"""`keystead completion`: the script with which a shell completes commands and options.

Not here: the protocol between script and command, which is typer's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

COMPLETE_VARIABLE = "_KEYSTEAD_COMPLETE"
"""The script sets this variable when it asks for completions."""

_ZSH_REGISTERS = "compdef _keystead_completion keystead"
_ZSH_COMPLETES = f"""if [[ ${{funcstack[1]}} == _keystead ]]; then
  _keystead_completion "$@"
else
  {_ZSH_REGISTERS}
fi"""
"""zsh loads a file of $fpath when it completes for the first time, as the body of a function of the file's name.
typer's script would only define and register a function then, and the first Tab would complete nothing."""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the completion of a shell.

    bash: add `source <(keystead completion bash)` to ~/.bashrc. zsh: `keystead completion zsh > FOLDER/_keystead`,
    with a folder of $fpath. fish: `keystead completion fish > ~/.config/fish/completions/keystead.fish`.
    """
    script = get_completion_script(prog_name="keystead", complete_var=COMPLETE_VARIABLE, shell=shell.value)
    print(script.replace(_ZSH_REGISTERS, _ZSH_COMPLETES) if shell is Shell.ZSH else script)
