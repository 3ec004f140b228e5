"""The text of an expression, or of a part of one, from its tree. Reading the text again gives an equal tree.

Not here: the short spelling of a path for messages (`syntax.spelled`).
"""

from __future__ import annotations

from typing import assert_never

from keystead.policies.language.syntax import (
    Comparison,
    Contains,
    Count,
    Field,
    Index,
    Junction,
    ListFunction,
    ListLiteral,
    Literal,
    Name,
    Node,
    Not,
    Slice,
    TimeFunction,
)


def text_of(node: Node) -> str:
    """The node as its author would write it, on one line."""
    match node:
        case Literal(value=value):
            if isinstance(value, bool):
                return "true" if value else "false"
            return f"'{value}'" if isinstance(value, str) else str(value)
        case ListLiteral(items=items):
            return f"[{', '.join(map(text_of, items))}]"
        case Name(name=name):
            return name
        case Field(of=of, name=name):
            return f"{_operand(of)}.{name}"
        case Index(of=of, index=index):
            return f"{_operand(of)}[{text_of(index)}]"
        case Slice(of=of, start=start, end=end):
            return f"{_operand(of)}[{text_of(start)}..{text_of(end)}]"
        case ListFunction(of=of, function=function, variable=variable, predicate=predicate):
            return f"{_operand(of)}.{function}({variable}, {text_of(predicate)})"
        case Contains(of=of, value=value):
            return f"{_operand(of)}.contains({text_of(value)})"
        case Count(of=of):
            return f"{_operand(of)}.count()"
        case TimeFunction(function=function, arguments=arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
        case Not(of=of):
            return f"!{text_of(of) if isinstance(of, Not) else _operand(of)}"
        case Comparison(operator=operator, left=left, right=right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case Junction(operator=operator, operands=operands):
            return f" {operator} ".join(_junction_operand(operator, operand) for operand in operands)
        case unknown:
            assert_never(unknown)


def _operand(node: Node) -> str:
    """The text of an operand, in parentheses if its own operator may bind less strongly."""
    text = text_of(node)
    return f"({text})" if isinstance(node, Junction | Comparison | Not) else text


def _junction_operand(operator: str, node: Node) -> str:
    """The text of an operand of && or ||, in parentheses if needed: && binds more strongly."""
    if isinstance(node, Junction) and (operator == "&&" or node.operator == "||"):
        return f"({text_of(node)})"
    return text_of(node)
