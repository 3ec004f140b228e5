"""BIP-32 paths: their text, their segments, and the form in which they are compared.

Pure. Not here: the key that a path leads to (`keys.derivation`), and whether a wallet already has an account at the
path (`operations`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import assert_never

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import PATH_DEPTH_MAX, PATHS_SEGMENTS_MAX

HARDENED = 0x8000_0000
"""Bit 31 of a segment, which is set in hardened segments. A path shows the lower 31 bits."""


_MARKS = ("", "'")
_SEGMENT = re.compile(r"([0-9]{1,10})(['hH]?)")
_TEXT_LENGTH_MAX = len("m") + PATH_DEPTH_MAX * len("/2147483647'")
_SHOWN_LENGTH_MAX = 80


@functools.lru_cache(maxsize=4096)
def parse_path(path: str) -> tuple[int, ...]:
    """The segments of `path` from the root down, each below 2^32, bit 31 set where it is hardened.

    The text is `m/` and 1 to 255 decimal numbers below 2^31 joined by `/`; hardened ones end in `'`, `h` or `H`
    (BIP-32). Raises InvalidRequest, its message starting with `invalid path`.
    """
    if len(path) > _TEXT_LENGTH_MAX:
        raise _invalid(path, f"has {len(path)} characters; at most {_TEXT_LENGTH_MAX} are allowed")
    root, slash, rest = path.partition("/")
    if root != "m" or not slash:
        raise _invalid(path, "does not start with m/; a path reads like m/44'/60'/0'/0/0")
    texts = rest.split("/")
    if len(texts) > PATH_DEPTH_MAX:
        raise _invalid(path, f"has {len(texts)} segments; at most {PATH_DEPTH_MAX} are allowed")
    return tuple(_parse_segment(path, text) for text in texts)


def check_total_depth(paths: Sequence[str]) -> None:
    """Raises InvalidRequest if deriving all these paths is too much for one request. Does not parse them."""
    total = sum(path.count("/") for path in paths)
    if total > PATHS_SEGMENTS_MAX:
        raise InvalidRequest(
            f"invalid path: the {len(paths)} paths of this request have {total} segments in all; "
            f"at most {PATHS_SEGMENTS_MAX} are allowed: request fewer accounts at once"
        )


def _parse_segment(path: str, text: str) -> int:
    if not text:
        raise _invalid(path, "has an empty segment")
    match = _SEGMENT.fullmatch(text)
    if match is None:
        raise _invalid(path, f"has the segment {_shown(text)}; a segment is a decimal number, then ' if hardened")
    number = int(match[1])
    if number >= HARDENED:
        raise _invalid(path, f"has the segment {_shown(text)}; segments are below 2147483648")
    return number | HARDENED if match[2] else number


def path_text(segments: Sequence[int]) -> str:
    """The one canonical spelling: decimal without leading zeros, `'` for hardened."""
    return "/".join(("m", *(f"{segment & ~HARDENED}{_MARKS[segment >> 31]}" for segment in segments)))


def effective_segments(curve: Curve, segments: Sequence[int]) -> tuple[int, ...]:
    """The segments that are derived for `curve`. On ed25519, every segment is hardened.

    SLIP-10 defines no other segments for ed25519, and clients send paths such as m/44'/501'/0'/0 for it.
    """
    match curve:
        case Curve.ED25519:
            return tuple(segment | HARDENED for segment in segments)
        case Curve.SECP256K1 | Curve.P256:
            return tuple(segments)
        case _:
            assert_never(curve)


def comparison_form(curve: Curve, path: str) -> str:
    """A text that is equal for exactly those paths that lead to the same key of `curve` in one wallet.

    Raises InvalidRequest as `parse_path` does.
    """
    return path_text(effective_segments(curve, parse_path(path)))


def _invalid(path: str, reason: str) -> InvalidRequest:
    return InvalidRequest(f"invalid path: {_shown(path)} {reason}")


def _shown(text: str) -> str:
    """`text` quoted and shortened: a caller chose it, and it ends up in logs."""
    return ascii(text if len(text) <= _SHOWN_LENGTH_MAX else text[:_SHOWN_LENGTH_MAX] + "...")
