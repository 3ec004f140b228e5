"""docs/extending.md, followed in a copy of the source: a toy record kind and two toy operations of our own.

Each step of the page that changes a file is a function here, under the words that begin the step. A step that the
page has and this module has not, or the other way round, fails the first test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.hanging import PATIENCE_S
from tests.support.source_tree import ROOT

TOY = Path(__file__).parent / "toy"
PAGE = (ROOT / "docs" / "extending.md").read_text()


def insert(file: Path, before: str, text: str) -> None:
    """Insert the text before the only place with these words."""
    found = file.read_text()
    assert found.count(before) == 1, f"{file}: {before}"
    file.write_text(found.replace(before, text + before))


def declare_the_kind(copy: Path) -> None:
    shutil.copy(TOY / "memo_kind.txt", copy / "src/keystead/organizations/kinds/memos.py")


def list_the_kind(copy: Path) -> None:
    kinds = copy / "src/keystead/organizations/record_kinds.py"
    insert(kinds, "from keystead.organizations.kinds.oauth2_credentials import", IMPORT_OF_KIND)
    insert(kinds, "    Oauth2Credentials,\n", "    Memos,\n")


IMPORT_OF_KIND = "from keystead.organizations.kinds.memos import Memos\n"


def add_a_record(copy: Path) -> None:
    samples = copy / "tests/support/commit_samples.py"
    insert(
        samples, "        an_import_target(users[0]),\n", '        Memo(new_id(), "ü \\u0000", users[0].user_id),\n'
    )
    insert(
        samples,
        "from keystead.organizations.kinds.passkeys import",
        "from keystead.organizations.kinds.memos import Memo\n",
    )


def write_the_functions(copy: Path) -> None:
    operations = copy / "src/keystead/operations"
    shutil.copy(TOY / "memo_operations.txt", operations / "memos.py")
    insert(operations / "__init__.py", "import keystead.operations.votes\n", "import keystead.operations.memos\n")


def tell_policies(copy: Path) -> None:
    insert(
        copy / "src/keystead/policies/resources.py",
        '    "AUTH_PROXY": {\n',
        '    "MEMO": {"CREATE": "CREATE_MEMO"},\n',
    )
    tests = copy / "tests/policies/test_resources.py"
    tests.write_text(tests.read_text().replace("set(RESOURCES.split())", '{"MEMO", *RESOURCES.split()}'))


def add_examples(copy: Path) -> None:
    examples = copy / "tests/support/operation_examples.py"
    insert(
        examples,
        '    "ACTIVITY_TYPE_CREATE_USER_TAG": lambda',
        '    "ACTIVITY_TYPE_CREATE_MEMO": lambda f: {"text": unique("memo")},\n',
    )
    insert(examples, QUERY_BEFORE, '    "list_memos": lambda f: {},\n')


QUERY_BEFORE = '    "list_policies": lambda'


def generate(copy: Path) -> None:
    for module in (
        "keystead.operations.client_methods",
        "keystead.operations.coverage",
        "keystead.server.settings.configuration",
        "tools.reference",
    ):
        run(copy, "-m", module)


def document(copy: Path) -> None:
    insert(
        copy / "docs/divergences.md",
        "- `list_policy_warnings`",
        "- `create_memo` and `list_memos` are Keystead's own.\n",
    )


STEPS: list[tuple[str, str, Callable[[Path], None]]] = [
    ("Add a record kind", "**Declare it**", declare_the_kind),
    ("Add a record kind", "**List it**", list_the_kind),
    ("Add a record kind", "**Add a record of it**", add_a_record),
    ("Add an operation", "**Write one function**", write_the_functions),
    ("Add an operation", "**Tell policies**", tell_policies),
    ("Add an operation", "**Add an example**", add_examples),
    ("Add an operation", "**Document**", document),
    ("Add an operation", "**Generate**", generate),
]
"""In the order in which a contributor needs them: the kind, then the operations that use it."""

NOT_NEEDED = {
    "**Use it**",  # the operations do
    "**Document it**",
    "**Read how**",
    "**Load more**",
    "**Show policies more**",
    "**Older versions**",
}


def run(copy: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(copy / "src"), str(copy)])
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # its modules are imported by many processes
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{arguments}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def steps_of(section: str) -> set[str]:
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |^If the kind)", PAGE, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^\d+\. (\*\*[^*]+\*\*)", text, re.MULTILINE))


def test_every_step_of_the_page_is_followed() -> None:
    for section in ("Add an operation", "Add a record kind"):
        followed = {step for of, step, _ in STEPS if of == section}
        assert followed <= steps_of(section) <= followed | NOT_NEEDED, section
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |^If the kind)", PAGE, re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == len(steps_of(section)), "each step has a name"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source with the toys in it."""
    folder = tmp_path_factory.mktemp("source")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for _, _, step in STEPS:
        step(folder)
    return folder


def test_the_toys_work(copy: Path) -> None:
    """With the client that was generated, on a development server of the copy."""
    (copy / "used.py").write_text(USED)
    assert run(copy, "used.py").splitlines() == [
        "['one', 'two', 'three']",
        "LimitReached",
        "['three more']",
    ]


USED = """
from keystead.client.errors import ApiError
from keystead.testing import development_server

with development_server() as server:
    for text in ("one", "two", "three"):
        assert server.client.create_memo(text=text).memo_id
    print(list(server.client.list_memos().texts))
    try:
        server.client.create_memo(text="four")
    except ApiError as refused:
        print(type(refused).__name__)
    made = server.new_organization()
    made.client.create_memo(text="three more")
    print(list(made.client.list_memos().texts))
"""

CHECKS = [
    "tests/api/test_catalogue.py",
    "tests/api/test_openapi.py",
    "tests/storage/test_record_kinds.py",
    "tests/client/test_client_generated.py",
    "tests/policies/test_resources.py",
    "tests/test_documentation.py::test_the_coverage_page",
    "tests/test_documentation.py::test_the_page_of_differences_names_the_operations_of_our_own",
    "tests/test_documentation.py::test_the_configuration_page",
    "tests/test_documentation.py::test_the_api_reference",
]


def test_the_tests_accept_the_toys(copy: Path) -> None:
    """Those that look at every operation and at every record kind, with the generated pages."""
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "", *CHECKS)
