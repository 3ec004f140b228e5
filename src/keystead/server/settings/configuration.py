"""Writes docs/configuration.md from the settings: `python -m keystead.server.settings.configuration [--check]`."""

from __future__ import annotations

import sys
import textwrap
import typing
from pathlib import Path

import msgspec

from keystead.server.settings.setting_values import shown_value
from keystead.server.settings.settings import CLIENT_VARIABLES, OF_DATA, AllSettings, variable_of

PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"

_OF_DATA = textwrap.fill(", ".join(f"`{name}`" for name in sorted(OF_DATA)), 116)

_BEGINNING = f"""# Configuration

Generated from the settings (`make generate`); a test fails when it is not current.

`keystead serve` and `keystead dev` read the environment variables below. Their flags set the same settings and
take precedence. A server does not start with an unknown variable that begins with `KEYSTEAD_`, so that a misspelt
setting is not silently ignored. Variables that Kubernetes sets for a Service named keystead
(`KEYSTEAD_SERVICE_HOST`, `KEYSTEAD_PORT=tcp://…`) are ignored.

`keystead dev` prints the settings that differ from its defaults, which are those below with four exceptions: it
listens on both loopback addresses, logs from level `warning` on, logs for people if it runs in a terminal, and
keeps messages for a day. Its folder has its database and its master key, so it refuses the variables that would
name others:
{_OF_DATA}.

Every worker process has its own cache, its own limits of requests and connections, and its own connections to the
database. [limits.md](limits.md) says what happens beyond each limit.

| variable | default | meaning |
|---|---|---|
"""

_CLIENT = """
## Variables of the client and the commands

`Client.from_env()`, commands such as `keystead request` and `keystead init`, and the examples read these; the
server ignores them, so that one file of variables serves all of them. Commands also read some of the settings
above, such as `KEYSTEAD_DATABASE_URL`: `keystead COMMAND -h` names them.

| variable | meaning |
|---|---|
"""


def configuration_page() -> str:
    """Every setting with its default and its meaning."""
    hints = typing.get_type_hints(AllSettings, include_extras=True)
    rows = []
    for field in msgspec.structs.fields(AllSettings):
        (meta,) = (extra for extra in hints[field.name].__metadata__ if isinstance(extra, msgspec.Meta))
        default = "needed" if field.required else f"`{shown_value(field.default) or ' '}`"
        rows.append(f"| `{variable_of(field.name)}` | {default} | {meta.description} |")
    client = "".join(f"| `{variable}` | {meaning} |\n" for variable, meaning in sorted(CLIENT_VARIABLES.items()))
    return _BEGINNING + "\n".join(rows) + "\n" + _CLIENT + client


def main(arguments: list[str]) -> int:
    """Write the page. With --check, return 1 if the page is not current."""
    page = configuration_page()
    if arguments == ["--check"]:
        return 0 if PAGE.read_text() == page else 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
