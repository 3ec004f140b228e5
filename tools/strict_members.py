"""`python -m tools.strict_members`: writes tests/compatibility/strict_members.json from the crate turnkey_client.

The crate refuses an answer without a member that its source does not mark with `serde(default)`, also where the
public schema calls the member optional. The file has the members of the structs in answers; a name that ends in `?`
is that of a member that may be absent. Not here: the test that compares them with our answers.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools.published_clients import crate

_FILE = Path(__file__).parents[1] / "tests" / "compatibility" / "strict_members.json"

_STRUCT = re.compile(r"pub struct (\w+) \{(.*?)\n?\}", re.DOTALL)
_FIELD = re.compile(r"#\[([^\]]*)\]|pub (?:r#)?(\w+):\s*(.*?),\n(?=\s*(?:#|pub|\Z))", re.DOTALL)
_METHOD = re.compile(r"pub async fn \w+\(.*?(?=pub async fn |\Z)", re.DOTALL)
_PATH = re.compile(r'"/public/v1/((?:query|submit)/\w+)"')
_ANSWER = re.compile(r"-> Result<\s*coordinator::(\w+)|result::Inner::(\w+)\(\s*res\b")


class _Member(NamedTuple):
    """`type`: the last word of the member's Rust type, with the words before it, such as `common::v1::Curve`."""

    name: str
    is_required: bool
    type: str


_Structs = Mapping[str, list[_Member]]
"""The members of each struct, by the struct's name with its module: external.data.v1.User."""


def _structs(source: Path) -> _Structs:
    structs = {}
    for file in sorted(source.glob("*.rs")):
        text = re.sub(r"///[^\n]*", "", file.read_text())
        for name, body in _STRUCT.findall(text):
            structs[f"{file.stem}.{name}"] = list(_members(f"{body}\n"))
    return structs


def _members(body: str) -> Iterator[_Member]:
    is_optional = False
    for attribute, name, type_ in _FIELD.findall(body):
        if attribute:
            is_optional |= attribute.startswith(("serde(default", "serde(skip", "serde(flatten"))
            continue
        first, *others = name.split("_")
        type_name = re.findall(r"(?:\w+::)*\w+", type_)[-1]
        yield _Member(
            first + "".join(word.capitalize() for word in others), not is_optional, type_name.replace("super::", "")
        )
        is_optional = False


def _held(structs: _Structs, struct: str, member: _Member) -> str:
    """The struct in a member of another one; "" if its type is not a struct."""
    module, _, name = member.type.replace("::", ".").rpartition(".")
    own = struct.rpartition(".")[0]
    fitting = (full for full in structs if full.endswith(f"{module}.{name}" if module else f"{own}.{name}"))
    return next(fitting, "")


def strict_members(source: Path) -> dict[str, Any]:
    """By path of an operation, the struct of its answer or of the result of its activity; and the members of these
    structs and of those in them. `source`: the folder of generated Rust."""
    structs = _structs(source)
    answers = {}
    modules = ("services.coordinator.public.v1", "immutable.activity.v1")
    for method in _METHOD.findall((source / "client.rs").read_text()):
        path, answer = _PATH.search(method), _ANSWER.search(method)
        if path and answer:
            answers[path[1]] = f"{modules[0]}.{answer[1]}" if answer[1] else f"{modules[1]}.{answer[2]}"
    used, new = set[str](), {*answers.values()}
    while new:
        used |= new
        new = {_held(structs, name, member) for name in new for member in structs[name]} - used - {""}
    return {"answers": answers, "structs": {name: _shown(structs, name) for name in sorted(used)}}


def _shown(structs: _Structs, name: str) -> dict[str, str]:
    return {
        member.name if member.is_required else f"{member.name}?": _held(structs, name, member)
        for member in structs[name]
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        members = strict_members(crate("turnkey_client", Path(folder)) / "src" / "generated")
    parts = (
        f'"{part}": {{\n' + ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in named.items()) + "\n}"
        for part, named in members.items()
    )
    _FILE.write_text("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main()
