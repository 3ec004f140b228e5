"""What no file of the repository contains: paths of somebody's machine, names of package registries' hosts."""

from __future__ import annotations

import re

from tests.support.source_tree import ROOT, assert_only, tracked_files

# Written in parts, so that this file does not contain them.
_HOSTS = "|".join(
    re.escape(".".join(parts))
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
    )
)
_MACHINE_PATH = r"(?<![\w.~:}/-])/(?:home|Users|root|mnt|work)/[\w.]+"


def _files_with(pattern: str) -> set[str]:
    compiled = re.compile(pattern.encode())
    found = set()
    for path in tracked_files():
        if (ROOT / path).is_file() and (match := compiled.search((ROOT / path).read_bytes())):
            found.add(f"{path.as_posix()}: {match[0].decode()}")
    return found


def test_no_registry_hosts() -> None:
    assert_only(_files_with(_HOSTS), (), "hosts of package registries; leave them to the installer's settings:")


def test_no_machine_paths() -> None:
    assert_only(_files_with(_MACHINE_PATH), (), "paths of one machine; make them relative, or a parameter:")
