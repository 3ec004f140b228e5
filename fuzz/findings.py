"""The findings of a part of the fuzzer, and their files. Not here: how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Findings:
    """`folder` gets a file for each finding, with the bytes that show it. `tried` counts the attempts."""

    folder: Path
    tried: int = 0
    found: list[str] = field(default_factory=list)

    def add(self, what: str, data: bytes) -> None:
        """`what` is one line; `data` is what was sent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{len(self.found):03}.bin"
        file.write_bytes(data)
        self.found.append(f"{what} ({file.name}, {len(data)} bytes)")
        print(f"FOUND {self.found[-1]}", flush=True)
