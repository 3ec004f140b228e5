"""A PKCS#11 token in software, SoftHSM 2, for tests that need one: skipped only where there is none.

`make test` unpacks it into the virtual environment (`tools/unpack_debian.sh`) where the machine has none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keystead.keys.token_key import TokenKeyName

_UNPACKED = Path(sys.prefix) / "softhsm/usr"
_PLACES = (
    f"{_UNPACKED}/lib/softhsm/libsofthsm2.so",
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
    "/opt/homebrew/lib/softhsm/libsofthsm2.so",
)
MODULE = next((place for place in _PLACES if Path(place).exists()), "")
PIN = "cuckoo-4711"

_UTILITY = shutil.which("softhsm2-util", path=os.pathsep.join([f"{_UNPACKED}/bin", os.environ.get("PATH", "")]))

needs_softhsm = pytest.mark.skipif(not MODULE or _UTILITY is None, reason="SoftHSM 2 is not installed")


def made_token(folder: Path) -> TokenKeyName:
    """The name of a key in a fresh token; the key is yet to be made.

    Once in a process: the library reads its settings once. Processes that are started later find the token too.
    """
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\n")
    os.environ["SOFTHSM2_CONF"] = str(configuration)
    assert _UTILITY is not None
    made = ["--init-token", "--free", "--label", "keystead", "--pin", PIN, "--so-pin", "5678"]
    subprocess.run([_UTILITY, "--module", MODULE, *made], check=True, capture_output=True)
    return TokenKeyName(module=MODULE, token="keystead", key="master", pin=PIN)
