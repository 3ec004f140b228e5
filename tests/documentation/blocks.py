"""The fenced blocks of a page, and running them one after the other in one folder, as a reader would.

```python                  runs; the blocks of a page share their names
```console                 each line after `$ ` runs in a shell; the lines below it are what it prints, and `…`
                           stands for any text
<!-- file: NAME -->        before a block: it is saved as this file. A TypeScript file (.mts) is run, too.
<!-- shown: REASON -->     before a block: it does not run, for this reason
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keystead import Client
from tests.compatibility.scripts import PACKAGES, node
from tests.support.hanging import PATIENCE_S

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>file|shown): (?P<value>[^\n]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """`file`: the name to save it as; `shown`: why it is not run; "" where the page says neither."""

    language: str
    text: str
    line: int
    file: str = ""
    shown: str = ""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(
            language=found["language"],
            text=found["text"],
            line=text.count("\n", 0, found.start("text")),
            **{found["mark"]: found["value"]} if found["mark"] else {},
        )
        for found in _BLOCK.finditer(text)
    ]


@dataclass
class Reader:
    """Does what a page says, in a folder where a development server keeps its credentials."""

    page: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=dict)

    def follow(self) -> dict[int, str]:
        """Run every block; what each printed, by its line. Raises AssertionError where one fails."""
        try:
            with contextlib.chdir(self.folder):
                return {block.line: self._do(block) for block in blocks_of(self.page) if not block.shown}
        finally:
            for value in self.names.values():
                if isinstance(value, Client):
                    value.close()

    def _do(self, block: Block) -> str:
        if block.file:
            Path(block.file).write_text(block.text)
        if block.language == "python":
            return self._python(block)
        if block.language == "console":
            return self._console(block)
        if block.file.endswith(".mts"):
            return self._typescript(block)
        assert block.file, f"{self.page.name}:{block.line}: a block of {block.language} is not run: say why"
        return ""

    def _python(self, block: Block) -> str:
        source = "\n" * block.line + block.text  # so that a traceback has the page's line
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, self.page, "exec"), self.names)
        return out.getvalue()

    def _typescript(self, block: Block) -> str:
        """The blocks have no types, so they are JavaScript, too."""
        script = Path(block.file).with_suffix(".mjs")
        script.write_text(block.text)
        if not Path("node_modules").exists():
            Path("node_modules").symlink_to(PACKAGES)
        return _run([node(), str(script)], f"{self.page.name}:{block.line}")

    def _console(self, block: Block) -> str:
        """What the commands print is compared here."""
        for command, expected in _commands(block.text):
            printed = _run(["bash", "-c", command], f"{self.page.name}: {command}")
            pattern = ".*".join(re.escape(part) for part in expected.strip().split("…"))
            assert re.fullmatch(pattern, printed.strip(), re.DOTALL), printed
        return ""


def _commands(text: str) -> list[tuple[str, str]]:
    """Each command with what it prints."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(first, rest) for first, _, rest in (part.partition("\n") for part in parts)]


def _run(command: list[str], what: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")}
    done = subprocess.run(
        command, env={**inherited, "PATH": path}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, f"{what}\n{done.stdout}\n{done.stderr}"
    return done.stdout
