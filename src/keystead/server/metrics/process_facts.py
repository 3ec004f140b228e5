"""What the operating system knows about a process: its memory and its processor time. Linux; 0 elsewhere."""

from __future__ import annotations

import os
from pathlib import Path


def resident_bytes(process: int | str) -> int:
    """The memory of a process, by its id or "self"; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def cpu_seconds(process: int) -> float:
    """The processor time of a process; 0 if it has ended."""
    try:
        # The name, in parentheses, may hold spaces. Fields 14 and 15 are the times, the third comes after the name.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0
