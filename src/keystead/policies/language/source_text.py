"""The text of an expression, or of a part of one, from its tree. Reading the text again gives an equal tree.

Not here: the short spelling of a path for messages (`syntax.spelled`).
"""

from __future__ import annotations

from typing import assert_never

from keystead.policies.language import syntax


def text_of(node: syntax.Node) -> str:
    """The node as its author would write it, on one line."""
    match node:
        case syntax.Literal(value=value):
            if isinstance(value, bool):
                return "true" if value else "false"
            return f"'{value}'" if isinstance(value, str) else str(value)
        case syntax.ListLiteral(items=items):
            return f"[{', '.join(map(text_of, items))}]"
        case syntax.Name(name=name):
            return name
        case syntax.Field(of=of, name=name):
            return f"{_operand(of)}.{name}"
        case syntax.Index(of=of, index=index):
            return f"{_operand(of)}[{text_of(index)}]"
        case syntax.Slice(of=of, start=start, end=end):
            return f"{_operand(of)}[{text_of(start)}..{text_of(end)}]"
        case syntax.ListFunction(of=of, function=function, variable=variable, predicate=predicate):
            return f"{_operand(of)}.{function}({variable}, {text_of(predicate)})"
        case syntax.Contains(of=of, value=value):
            return f"{_operand(of)}.contains({text_of(value)})"
        case syntax.Count(of=of):
            return f"{_operand(of)}.count()"
        case syntax.TimeFunction(function=function, arguments=arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
        case syntax.Not(of=of):
            return f"!{text_of(of) if isinstance(of, syntax.Not) else _operand(of)}"
        case syntax.Comparison(operator=operator, left=left, right=right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case syntax.Junction(operator=operator, operands=operands):
            return f" {operator} ".join(_junction_operand(operator, operand) for operand in operands)
        case unknown:
            assert_never(unknown)


def _operand(node: syntax.Node) -> str:
    """The text of an operand, in parentheses if its own operator may bind less strongly."""
    text = text_of(node)
    return f"({text})" if isinstance(node, syntax.Junction | syntax.Comparison | syntax.Not) else text


def _junction_operand(operator: str, node: syntax.Node) -> str:
    """The text of an operand of && or ||, in parentheses if needed: && binds more strongly."""
    if isinstance(node, syntax.Junction) and (operator == "&&" or node.operator == "||"):
        return f"({text_of(node)})"
    return text_of(node)
