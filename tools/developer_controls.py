"""`python -m tools.developer_controls`: writes the methods of the developer's controls from their declaration.

Here: `client/dev_methods.py`, and `methods.js` and `methods.d.ts` of packages/js. Not here: the declaration
(`api.developer_controls`), what the clients add to it by hand (`DevControls`, `controls.js`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from keystead.api import developer_controls
from keystead.api.developer_controls import GROUPS, METHODS, Given, Method, MethodParameter
from keystead.api.enums import ActivityStatus

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "src/keystead/client/dev_methods.py"
JAVASCRIPT = ROOT / "packages/js/src"

_MADE = "Made by `make generate` from keystead.api.developer_controls. Do not edit."
_DISTANCE = ("days", "hours", "minutes", "seconds")
_MS_OF_PYTHON = {Given.MOMENT: "_ms({})", Given.DELAY: "int({} * 1000)"}
_RECORDS = (
    developer_controls.SentMessage,
    developer_controls.StampSeen,
    developer_controls.RequestSeen,
    developer_controls.SentWebhook,
)


def files() -> dict[Path, str]:
    """Each generated file with its text."""
    return {
        PYTHON: _formatted(_python()),
        JAVASCRIPT / "methods.js": _javascript(),
        JAVASCRIPT / "methods.d.ts": _declarations(),
    }


def main() -> None:
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"written: {path}\n")


def _formatted(source: str) -> str:
    ruff = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", str(PYTHON), "-"]
    done = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def _methods(group: str) -> list[Method]:
    return [method for method in METHODS if method.group == group]


def _field_types(method: Method) -> dict[str, Any]:
    """The type of each field of the change, without its constraints and without None."""
    if method.control.change is None:
        return {}
    return {name: _plain(kind) for name, kind in typing.get_type_hints(method.control.change).items()}


def _plain(kind: Any) -> Any:
    of = [each for each in typing.get_args(kind) if each is not type(None)]
    return of[0] if type(None) in typing.get_args(kind) else kind


def _is_read(method: Method) -> bool:
    return not method.parameters and not method.fixed


# Python


def _python() -> str:
    names = sorted({control for method in METHODS for control in _used(method)}, key=_import_order)
    classes = [_python_class(f"Dev{group.capitalize()}", doc, _methods(group)) for group, doc in GROUPS.items()]
    own = _python_class("DevMethods", "The methods of the controls themselves.", _methods(""), abstract=True)
    body = "\n\n".join([*classes, own])
    listed = "\n".join(f"    {name}," for name in names)
    return f'''"""The methods of `DevControls`. {_MADE}"""

from __future__ import annotations

import datetime
from typing import Protocol, TypeVar

from keystead.api.developer_controls import (
{listed}
)
from keystead.api.enums import ActivityStatus
from keystead.client.errors import UsageError

T = TypeVar("T")


class _Requests(Protocol):
    def read(self, control: Control[T]) -> T: ...

    def change(self, control: Control[T], change: ControlRequest) -> T: ...


{body}

def _ms(moment: datetime.datetime) -> int:
    """Raises UsageError for a time without a zone."""
    if moment.tzinfo is None:
        raise UsageError("the time has no zone: give one, for example datetime(2030, 1, 1, tzinfo=UTC)")
    return int(moment.timestamp() * 1000)


def _moment(epoch_ms: int) -> datetime.datetime:
    """In UTC."""
    return datetime.datetime.fromtimestamp(epoch_ms / 1000, datetime.UTC)
'''


def _import_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1, name)


def _used(method: Method) -> Iterator[str]:
    yield from ("Control", "ControlRequest")
    yield _constant(method)
    if not _is_read(method):
        yield method.control.change.__name__  # type: ignore[union-attr]
    if method.answer == "requests":
        yield "RequestSeen"


def _constant(method: Method) -> str:
    return method.control.name.replace("-", "_").upper()


def _python_class(name: str, doc: str, methods: Iterable[Method], *, abstract: bool = False) -> str:
    lines = [f"class {name}:", f'    """{doc}"""', ""]
    if abstract:
        lines[0] = f"class {name}(_Requests):"
    else:
        lines += ["    def __init__(self, controls: _Requests) -> None:", "        self._controls = controls", ""]
    controls = "self" if abstract else "self._controls"
    for method in methods:
        lines += [*_python_method(method, controls), ""]
    return "\n".join(lines)


def _python_method(method: Method, controls: str) -> Iterator[str]:
    kinds = _field_types(method)
    parameters = ["self"]
    given = [f"{name}={value!r}" for name, value in method.fixed.items()]
    for each in method.parameters:
        if each.given is Given.DISTANCE:
            parameters += ["*", *(f"{unit}: float = 0" for unit in _DISTANCE)]
            units = ", ".join(f"{unit}={unit}" for unit in _DISTANCE)
            value = f"datetime.timedelta({units}) // datetime.timedelta(milliseconds=1)"
        else:
            if each.keyword and "*" not in parameters:
                parameters.append("*")
            parameters.append(_python_parameter(each, kinds))
            value = _MS_OF_PYTHON.get(each.given, "{}").format(_python_name(each))
            if each.default is None and value != each.name:
                value = f"None if {each.name} is None else {value}"
        given.append(f"{each.change_field}={value}")
    if method.name.startswith("is_"):
        yield "    @property"
    yield f"    def {method.name}({', '.join(parameters)}) -> {_python_answer(method)}:"
    yield from _docstring(method.doc)
    call = f"{controls}.read({_constant(method)})"
    if not _is_read(method):
        assert method.control.change is not None
        change = f"{method.control.change.__name__}({', '.join(given)})"
        call = f"{controls}.change({_constant(method)}, {change})"
        if len(call) > 90:
            yield f"        change = {change}"
            call = f"{controls}.change({_constant(method)}, change)"
    if method.answer is None:
        yield f"        {call}"
    elif method.returns is Given.MOMENT:
        yield f"        return _moment({call}.{method.answer})"
    elif _python_answer(method).startswith("list"):
        yield f"        return list({call}.{method.answer})"
    else:
        yield f"        return {call}.{method.answer}"


def _python_name(parameter: MethodParameter) -> str:
    return "seconds" if parameter.given is Given.DELAY else parameter.name


def _python_parameter(parameter: MethodParameter, kinds: Mapping[str, Any]) -> str:
    named = {Given.MOMENT: "datetime.datetime", Given.DELAY: "float"}
    kind = named.get(parameter.given) or _python_type(kinds[parameter.change_field])
    if parameter.default is msgspec.UNSET:
        return f"{_python_name(parameter)}: {kind}"
    if parameter.default is None:
        return f"{_python_name(parameter)}: {kind} | None = None"
    return f"{_python_name(parameter)}: {kind} = {json.dumps(parameter.default)}"


def _python_type(kind: Any) -> str:
    return str(kind.__name__)


def _python_answer(method: Method) -> str:
    if method.answer is None:
        return "None"
    if method.returns is Given.MOMENT:
        return "datetime.datetime"
    kind = typing.get_type_hints(method.control.answer)[method.answer]
    if typing.get_origin(kind) is tuple:
        return f"list[{typing.get_args(kind)[0].__name__}]"
    return str(kind.__name__)


def _docstring(doc: str) -> Iterator[str]:
    lines = textwrap.wrap(doc, 105, break_on_hyphens=False)
    if len(lines) == 1:
        yield f'        """{lines[0]}"""'
    else:
        yield f'        """{lines[0]}'
        yield from (f"        {line}" for line in lines[1:-1])
        yield f'        {lines[-1]}"""'


# JavaScript


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _js_name(parameter: MethodParameter) -> str:
    return "delayMs" if parameter.given is Given.DELAY else _camel(parameter.name)


def _javascript() -> str:
    classes = [_js_class(group.capitalize(), _methods(group)) for group in GROUPS]
    body = "\n".join([*classes, _js_class("Methods", _methods(""))])
    return f"""// The methods of the developer's controls. {_MADE}

import {{ distanceMs, milliseconds }} from "./times.js";

{body}"""


def _js_class(name: str, methods: Iterable[Method]) -> str:
    lines = [f"export class {name} {{", "  #controls;", "", "  constructor(controls) {"]
    lines += ["    this.#controls = controls;", "  }"]
    for method in methods:
        lines += ["", *_js_method(method)]
    return "\n".join([*lines, "}", ""])


def _js_method(method: Method) -> Iterator[str]:
    parameters: list[str] = []
    options: list[str] = []
    given = [f"{_camel(name)}: {json.dumps(value)}" for name, value in method.fixed.items()]
    for each in method.parameters:
        has_value = each.default not in (msgspec.UNSET, None)
        text = f"{_js_name(each)} = {json.dumps(each.default)}" if has_value else _js_name(each)
        (options if each.keyword else parameters).append(text)
        value = {Given.MOMENT: f"milliseconds({_js_name(each)})", Given.DISTANCE: f"distanceMs({each.name})"}.get(
            each.given, _js_name(each)
        )
        field = _camel(each.change_field)
        given.append(field if field == value else f"{field}: {value}")
    if options:
        parameters.append(f"{{ {', '.join(options)} }} = {{}}")
    yield f"  async {_camel(method.name)}({', '.join(parameters)}) {{"
    call = f'this.#controls.read("{method.control.name}")'
    if not _is_read(method):
        call = f'this.#controls.change("{method.control.name}", {{ {", ".join(given)} }})'
    if method.answer is None:
        yield f"    await {call};"
    elif method.returns is Given.MOMENT:
        yield f"    return new Date((await {call}).{_camel(method.answer)});"
    else:
        yield f"    return (await {call}).{_camel(method.answer)};"
    yield "  }"


def _declarations() -> str:
    interfaces = [_interface(f"{record.__name__}", record) for record in _RECORDS]
    statuses = "\n".join(f'  | "{status}"' for status in ActivityStatus)
    classes = [
        *(_ts_class(f"interface {group.capitalize()}", doc, _methods(group)) for group, doc in GROUPS.items()),
        _ts_class("interface Methods", "The methods of the controls themselves.", _methods("")),
    ]
    return "\n".join(
        [
            f"// The types of the developer's controls. {_MADE}\n",
            'import type { Distance } from "./times.js";\n',
            f"export type ActivityStatus =\n{statuses};\n",
            *interfaces,
            *classes,
        ]
    )


def _interface(name: str, record: type[msgspec.Struct]) -> str:
    hints = typing.get_type_hints(record)
    lines = [_ts_doc(_words(record), ""), f"export interface {name} {{"]
    for field in msgspec.structs.fields(record):
        may_be_absent = "?" if not field.required and record.__struct_config__.omit_defaults else ""
        lines.append(f"  {field.encode_name}{may_be_absent}: {_ts_type(_plain(hints[field.name]))};")
    return "\n".join([*lines, "}", ""])


def _words(record: type[msgspec.Struct]) -> str:
    """The docstring of a record, with the names that JavaScript has for its members."""
    doc = " ".join((record.__doc__ or "").split())
    for field in msgspec.structs.fields(record):
        doc = doc.replace(f"`{field.name}`", f"`{field.encode_name}`")
    return doc


def _ts_class(head: str, doc: str, methods: Iterable[Method]) -> str:
    lines = [_ts_doc(doc, ""), f"export {head} {{"]
    for method in methods:
        kinds = _field_types(method)
        parameters = [_ts_parameter(each, kinds) for each in method.parameters if not each.keyword]
        options = [_ts_parameter(each, kinds) for each in method.parameters if each.keyword]
        if options:
            parameters.append(f"options?: {{ {'; '.join(options)} }}")
        lines.append(_ts_doc(method.doc, "  "))
        lines.append(f"  {_camel(method.name)}({', '.join(parameters)}): Promise<{_ts_answer(method)}>;")
    return "\n".join([*lines, "}", ""])


def _ts_parameter(parameter: MethodParameter, kinds: Mapping[str, Any]) -> str:
    named = {Given.MOMENT: "Date", Given.DISTANCE: "Distance", Given.DELAY: "number"}
    kind = named.get(parameter.given) or _ts_type(kinds[parameter.change_field])
    return f"{_js_name(parameter)}{'' if parameter.default is msgspec.UNSET else '?'}: {kind}"


def _ts_answer(method: Method) -> str:
    if method.answer is None:
        return "void"
    if method.returns is Given.MOMENT:
        return "Date"
    return _ts_type(typing.get_type_hints(method.control.answer)[method.answer])


def _ts_type(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        return f"{_ts_type(typing.get_args(kind)[0])}[]"
    if typing.get_origin(kind) is typing.Literal:
        return " | ".join(json.dumps(value) for value in typing.get_args(kind))
    if typing.get_origin(kind) is dict:
        return "Record<string, string>"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct | Enum):
        return kind.__name__
    return {str: "string", int: "number", float: "number", bool: "boolean"}[kind]


def _ts_doc(doc: str, indent: str) -> str:
    one_line = f"{indent}/** {doc} */"
    if len(one_line) <= 116:
        return one_line
    lines = textwrap.wrap(doc, 112 - len(indent), break_on_hyphens=False)
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"])


if __name__ == "__main__":
    main()
