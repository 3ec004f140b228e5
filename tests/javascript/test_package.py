"""The npm package `keystead`: packed, installed into an empty project, used there by node:test, vitest and jest."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keystead.client import dev_controls, dev_outbox, dev_webhooks
from tests.compatibility.scripts import PACKAGES
from tests.support.dev_servers import wait_until_ended
from tests.support.hanging import PATIENCE_S
from tools import developer_controls

PACKAGE = Path(__file__).parents[2] / "packages" / "js"
HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")},
    "KEYSTEAD_COMMAND": json.dumps([sys.executable, "-m", "keystead"]),
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}


def run(folder: Path, program: str, *arguments: str, **environment: str) -> str:
    found = shutil.which(program, path=ENVIRONMENT["PATH"])
    assert found is not None, f"there is no {program}: `make test` installs one"
    done = subprocess.run(
        [found, *arguments],
        cwd=folder,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the packed package installed, and nothing else."""
    folder = tmp_path_factory.mktemp("project")
    (packed,) = json.loads(run(PACKAGE, "npm", "pack", "--json", "--pack-destination", str(folder)))
    (folder / "package.json").write_text('{"type": "module"}')
    run(folder, "npm", "install", "--offline", "--no-audit", "--no-fund", str(folder / packed["filename"]))
    files = {file["path"] for file in packed["files"]}
    assert {"src/index.js", "src/index.d.ts", "README.md", "LICENSE", "package.json"} <= files
    assert not [path for path in files if "test" in path]
    return folder


@pytest.mark.parametrize("name", ["controls", "starting"])
def test_in_an_empty_project(project: Path, name: str) -> None:
    shutil.copy(HERE / f"{name}.test.mjs", project)
    temporary = project / f"{name}-temporary"  # of its own: the test looks at what is left there
    temporary.mkdir()
    run(project, "node", "--test", f"{name}.test.mjs", TMPDIR=str(temporary))


def test_the_example_of_its_page(project: Path) -> None:
    (example,) = re.findall(r"^```js\n(.*?)^```", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (project / "example.test.mjs").write_text(example)
    run(project, "node", "--test", "example.test.mjs")


@pytest.fixture
def runners(project: Path) -> Path:
    """The project with the pinned vitest and jest, as if `npm install` had put them there."""
    for runner in ("vitest", "jest"):
        installed = PACKAGES / runner
        assert installed.is_dir(), "the test runners are not installed: `make test` does it"
        link = project / "node_modules" / runner
        if not link.exists():
            link.symlink_to(installed)
    return project


def test_the_example_for_vitest(runners: Path) -> None:
    example, _ = re.findall(r"^```js\n(.*?)^```", (DOCS / "testing.md").read_text(), re.MULTILINE | re.DOTALL)
    (runners / "clock.spec.mjs").write_text(example)
    patience = ["--testTimeout=60000", "--hookTimeout=60000"]
    told = run(
        runners, "node", "node_modules/vitest/vitest.mjs", "run", *patience, "--reporter=json", "clock.spec.mjs"
    )
    assert json.loads(told)["numPassedTests"] == example.count("\ntest(")


def test_the_example_in_jest(runners: Path) -> None:
    """The same, without the import: jest's functions are global."""
    example, _ = re.findall(r"^```js\n(.*?)^```", (DOCS / "testing.md").read_text(), re.MULTILINE | re.DOTALL)
    imports, _, rest = example.partition("\n")
    assert imports.endswith('from "vitest";')
    (runners / "clock.test.js").write_text(rest)
    options = [
        "--json",
        "--testTimeout=60000",
        "--watchman=false",
        "--testEnvironment=node",
        "--transform={}",
        "--rootDir=.",
    ]
    # As the page says: NODE_OPTIONS=--experimental-vm-modules.
    told = run(
        runners, "node", "node_modules/jest/bin/jest.js", *options, "clock.test.js",
        NODE_OPTIONS="--experimental-vm-modules --no-warnings",
    )  # fmt: skip
    assert json.loads(told)["numPassedTests"] == example.count("\ntest(")


KEYSTEAD = [sys.executable, "-m", "keystead"]
WRAPPERS: dict[str, list[str]] = {
    "none": KEYSTEAD,
    "a shell that waits": ["sh", "-c", 'status=0; "$@" || status=$?; exit $status', "sh", *KEYSTEAD],
    "npx": ["npx", "--no", "--offline", "--", "keystead-of-python"],
    "one in another": ["sh", "-c", '"$@"; :', "sh", "npx", "--no", "--offline", "--", "keystead-of-python"],
}
"""Programs between the test process and the server."""

STARTS = "import { start } from 'keystead'; const all = await Promise.all([start(), start()]);"
TELLS = "console.log(all.map(({ baseUrl }) => baseUrl).join(' '));"
ENDS = {
    "exits": "process.exit(0);",
    "throws": "throw new Error('on purpose');",
    "SIGTERM": "process.kill(process.pid, 'SIGTERM'); await new Promise(() => setInterval(() => {}, 1000));",
    "SIGKILL": "process.kill(process.pid, 'SIGKILL');",
}
"""How a test process ends while two servers of its own run."""

IN_A_WORKER = """
import { once } from "node:events";
import { Worker } from "node:worker_threads";
const source = `Promise.all([import("keystead"), import("node:worker_threads")]).then(
  async ([{ start }, { parentPort }]) => parentPort.postMessage((await start()).baseUrl));
  setInterval(() => {}, 1000);`;
for (let run = 0; run < 2; run += 1) {
  const worker = new Worker(source, { eval: true });
  const [baseUrl] = await once(worker, "message");
  console.log(baseUrl);
  await worker.terminate();
}
await new Promise((resolve) => process.stdin.once("end", resolve).resume());
"""
"""As vitest runs tests again in watch mode: the worker of the last run is terminated, and the process goes on."""


@pytest.fixture
def wrapped(project: Path) -> Path:
    """The project with a package whose command starts Keystead, as `npx` finds it."""
    command = project / "node_modules" / ".bin" / "keystead-of-python"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\n{shlex.join(KEYSTEAD)} "$@"\nexit $?\n')
    command.chmod(0o755)
    return project


def started(folder: Path, script: str, command: Sequence[str] = KEYSTEAD) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(shutil.which("node", path=ENVIRONMENT["PATH"])), "--input-type=module", "--eval", script],
        cwd=folder,
        env=ENVIRONMENT | {"KEYSTEAD_COMMAND": json.dumps(command)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_server_ends_with_the_process_that_started_it(wrapper: str, how: str, wrapped: Path) -> None:
    process = started(wrapped, STARTS + TELLS + ENDS[how], WRAPPERS[wrapper])
    told, errors = process.communicate(timeout=PATIENCE_S)
    assert len(told.split()) == 2, errors
    wait_until_ended(told.split())


def test_a_server_ends_with_the_worker_that_started_it(project: Path) -> None:
    process = started(project, IN_A_WORKER)
    assert process.stdout is not None
    try:
        wait_until_ended([process.stdout.readline().strip(), process.stdout.readline().strip()])
        assert process.poll() is None
    finally:
        process.communicate(timeout=PATIENCE_S)


def test_the_methods_are_made_from_the_declaration() -> None:
    for path, text in developer_controls.files().items():
        assert path.read_text() == text, "run make generate"


def test_the_types_and_the_code_beside_the_declaration_have_the_same_names() -> None:
    declared = (PACKAGE / "src" / "index.d.ts").read_text()
    written = (PACKAGE / "src" / "controls.js").read_text()
    for name, of_python in (
        ("Outbox", dev_outbox.DevelopmentOutbox),
        ("Webhooks", dev_webhooks.DevWebhooks),
        ("DevControls", dev_controls.DevControls),
    ):
        block = _block(declared, rf"(?:interface|class) {name} {{")
        code = _block(written, rf"class {name} (?:extends Methods )?{{")
        methods = set(re.findall(r"^  (\w+)\(", block, re.MULTILINE)) - {"constructor"}
        assert methods == set(re.findall(r"^  (?:async )?(\w+)\(", code, re.MULTILINE)) - {"constructor"}
        snake = {re.sub(r"(?<!^)([A-Z])", lambda m: f"_{m[1].lower()}", method) for method in methods}
        public = {method for method in vars(of_python) if not method.startswith("_")}
        assert snake == public - {"read", "change", "close"}


def test_its_version_is_the_one_of_the_python_package() -> None:
    import tomllib

    package: dict[str, Any] = json.loads((PACKAGE / "package.json").read_text())
    project: dict[str, Any] = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    assert package["version"] == project["version"]
    assert package["license"] == project["license"]
    assert "dependencies" not in package


def _block(text: str, beginning: str) -> str:
    found = re.search(rf"{beginning}\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    assert found is not None, beginning
    return found[1]
