"""Runs the property tests of the suite repeatedly with new seeds.

They compare the decoders with independent readers, the policy engine with a slow evaluator, and the pipeline with
a model. Not here: the properties, which are tests.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

from fuzz.findings import Findings

_PACKAGES = ("primitives", "stamps", "organizations", "chains", "policies", "pipeline", "keys", "sessions")

_EXAMPLES_FACTOR = 4
"""How many times as many examples as in `make test` (`tests.support.examples`)."""


def fuzz_properties(findings: Findings, chance: random.Random, *, until: float) -> None:
    """Run until `until` (`time.monotonic`); a run that has started is completed. Hypothesis shrinks a failure."""
    folders = [f"tests/{name}" for name in _PACKAGES]
    while time.monotonic() < until:
        seed = chance.randrange(2**32)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "fuzz.only_properties",
            f"--hypothesis-seed={seed}",
            *folders,
        ]
        environment = {**os.environ, "KEYSTEAD_TEST_EXAMPLES": str(_EXAMPLES_FACTOR)}
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        findings.tried += 1
        if done.returncode:
            findings.add(f"a property does not hold with --hypothesis-seed={seed}", done.stdout + done.stderr)
