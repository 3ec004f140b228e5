"""Sentences that a reader with English as a second language stumbles over: in code, messages, pages and tests."""

from __future__ import annotations

import re

from tests.support.source_tree import ROOT, assert_only, tracked_files

# Written in parts, so that this file does not contain them.
_WORDS = [r"\b[Ww]ho" + "ever", r"\b[Ww]hom" + "ever", r"\bas who" + "m", r"\bthat of whi" + "ch"]
INVERTED = [*_WORDS, r"\b(?:that|which|what|who) (?:is|are) no" + r"ne\b"]
ELLIPTIC = ['""' + '"Of ', r"(?<!\b[Tt]here )\b(?:is|are) n" + r"o (?!longer|more)[a-z]+", r"\b[Ss]o" + r" many\b"]
FOUND = re.compile("|".join([*INVERTED, *ELLIPTIC]))
WRITTEN_HERE = {".py", ".md", ".js", ".mjs", ".mts", ".ts", ".tsx", ".html", ".css", ".sql", ".toml", ".yml", ".sh"}
OTHERS = ("/vendor/", "tests/vectors/")
"""Files that others wrote."""


def test_no_inverted_or_elliptic_sentences() -> None:
    """Write the subject: "a user who …", "anybody who …", "a text that is not a key", "the name of …"."""
    found = set()
    for path in tracked_files():
        name = path.as_posix()
        if (
            path.suffix in WRITTEN_HERE
            and not any(part in f"/{name}" for part in OTHERS)
            and (ROOT / path).is_file()
        ):
            found |= {f"{name}: {each[0]}" for each in FOUND.finditer((ROOT / path).read_text())}
    assert_only(found, (), "inverted or elliptic sentences:")
