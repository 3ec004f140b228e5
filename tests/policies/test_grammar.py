"""The grammar: what a text means, and where and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from keystead.policies.bounds import EXPRESSION_CHARACTERS_MAX, EXPRESSION_DEPTH_MAX
from keystead.policies.language.grammar import parse
from keystead.policies.language.syntax import (
    Comparison,
    Contains,
    Count,
    ExpressionRefused,
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


def shape(node: Node) -> str:
    """A tree with every grouping spelled out."""
    match node:
        case Literal(value=value):
            return repr(value)
        case ListLiteral(items=items):
            return f"[{' '.join(map(shape, items))}]"
        case Name(name=name):
            return name
        case Field(of=of, name=name):
            return f"{shape(of)}.{name}"
        case Index(of=of, index=index):
            return f"{shape(of)}[{shape(index)}]"
        case Slice(of=of, start=start, end=end):
            return f"{shape(of)}[{shape(start)}..{shape(end)}]"
        case ListFunction(of=of, function=function, variable=variable, predicate=predicate):
            return f"{shape(of)}.{function}({variable}: {shape(predicate)})"
        case Contains(of=of, value=value):
            return f"{shape(of)}.contains({shape(value)})"
        case Count(of=of):
            return f"{shape(of)}.count()"
        case TimeFunction(function=function, arguments=arguments):
            return f"{function}({' '.join(map(shape, arguments))})"
        case Not(of=of):
            return f"(! {shape(of)})"
        case Comparison(operator=operator, left=left, right=right):
            return f"({shape(left)} {operator} {shape(right)})"
        case Junction(operator=operator, operands=operands):
            return "(" + f" {operator} ".join(map(shape, operands)) + ")"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a || b && c", "(a || (b && c))"),
        ("a && b || c && d", "((a && b) || (c && d))"),
        ("(a || b) && c", "((a || b) && c)"),
        ("a || b || c", "(a || b || c)"),
        ("a || (b || c)", "(a || (b || c))"),
        ("!a == b", "(! (a == b))"),
        ("!!a && b", "((! (! a)) && b)"),
        ("(!a) == b", "((! a) == b)"),
        ("a == 1 && b != 2", "((a == 1) && (b != 2))"),
        ("a in ['x', 'y']", "(a in ['x' 'y'])"),
        ("a <= 1 || b >= 2", "((a <= 1) || (b >= 2))"),
        ("a.b.c[0]['k'][1..2].d", "a.b.c[0]['k'][1..2].d"),
        ("a[b[0]..c.count()]", "a[b[0]..c.count()]"),
        ("a.all(x, x == 1 && y)", "a.all(x: ((x == 1) && y))"),
        ("a.filter(x, x.b).any(y, y)", "a.filter(x: x.b).any(y: y)"),
        ("a.count > 1", "(a.count() > 1)"),
        ("a.count() > 1", "(a.count() > 1)"),
        ("a.contains('x')", "a.contains('x')"),
        ("a.from == a.in_", "(a.from == a.in_)"),
        ("[]", "[]"),
        ("[[1], 2]", "[[1] 2]"),
        (r"'a\' == ''", r"('a\\' == '')"),
        ("'\u00e9\n\U0001f511'", "'é\\n\U0001f511'"),
        ("  a\t==\r\n007 ", "(a == 7)"),
        ("CronSpan('a', 'b', 'c')", "CronSpan('a' 'b' 'c')"),
        ("Timestamp('a') < time.now", "(Timestamp('a') < time.now)"),
        ("Timestamp == 1", "(Timestamp == 1)"),
        ("true != false", "(True != False)"),
        ("truely == inner", "(truely == inner)"),
        (f"x == {2**256 - 1}", f"(x == {2**256 - 1})"),
    ],
)
def test_shape(text: str, expected: str) -> None:
    assert shape(parse(text)) == expected


@dataclass
class Refused:
    text: str
    line: int
    column: int
    reason: str

    def __str__(self) -> str:
        return self.text[:40]


REFUSED = [
    Refused("", 1, 1, "expected an expression, found the end"),
    Refused("  \n ", 2, 2, "expected an expression, found the end"),
    Refused("a ==", 1, 5, "expected an expression, found the end"),
    Refused("a == 1 b", 1, 8, "expected an operator or the end of the expression, found `b`"),
    Refused("a && && b", 1, 6, "expected an expression, found `&&`"),
    Refused("a &&\n  || b", 2, 3, "expected an expression, found `||`"),
    Refused("a < 1 < 2", 1, 7, "comparisons do not chain"),
    Refused("a in b in c", 1, 8, "comparisons do not chain"),
    Refused("a == !b", 1, 6, "expected an expression, found `!`"),
    Refused("(a", 1, 3, "expected an operator or `)`, found the end"),
    Refused("a)", 1, 2, "found `)`"),
    Refused("[1 2]", 1, 4, "expected `,` or `]`, found `2`"),
    Refused("[1,]", 1, 4, "expected an expression, found `]`"),
    Refused("a[1", 1, 4, "expected `..` or `]`"),
    Refused("a[1..2", 1, 7, "expected `]`"),
    Refused("a[..2]", 1, 3, "expected an expression, found `..`"),
    Refused("a.", 1, 3, "expected the name of a field or function"),
    Refused("a.1", 1, 3, "expected the name of a field or function, found `1`"),
    Refused("a.in", 1, 3, "expected the name of a field or function, found `in`"),
    Refused("a.all(x)", 1, 8, "expected `,`, found `)`"),
    Refused("a.all(1, x)", 1, 7, "expected a name for the variable of `all`"),
    Refused("a.all == 1", 1, 7, "expected `(`, found `==`"),
    Refused("a.contains()", 1, 12, "expected an expression"),
    Refused("a.size()", 1, 3, "function does not exist: size"),
    Refused("size(a)", 1, 1, "function does not exist: size"),
    Refused("Timestamp(1)", 1, 11, "expected a string for argument 1 of `Timestamp`"),
    Refused("CronSpan('a', 'b')", 1, 18, "expected `,`"),
    Refused("Timestamp('a', 'b')", 1, 14, "expected `)`"),
    Refused('a == "x"', 1, 6, "strings are written in single quotes"),
    Refused("a == 'x", 1, 6, "no closing `'`"),
    Refused("a = 1", 1, 3, "equality is written `==`"),
    Refused("a & b", 1, 3, "conjunction is written `&&`"),
    Refused("a | b", 1, 3, "disjunction is written `||`"),
    Refused("a == -1", 1, 6, "no negative numbers"),
    Refused("a + 1 == 2", 1, 3, "no addition"),
    Refused("a == 1 // b", 1, 8, "no comments"),
    Refused("a == 1.5", 1, 8, "expected the name of a field or function, found `5`"),
    Refused("a == 0x10", 1, 7, "found `x10`"),
    Refused("a;", 1, 2, "unexpected ';'"),
    Refused("a\u00a0== 1", 1, 2, "unexpected '\\xa0'"),
    Refused("\u0430ctivity == 1", 1, 1, "unexpected 'а'"),
    Refused("a == \u0661", 1, 6, "unexpected '١'"),
    Refused(f"a == {2**256}", 1, 6, "beyond the largest integer"),
    Refused(f"a == {'9' * 9000}", 1, 6, "beyond the largest integer"),
    Refused("a == '" + "x" * EXPRESSION_CHARACTERS_MAX + "'", 1, 1, "at most 10000"),
    Refused("(" * 65 + "a" + ")" * 65, 1, 65, "more than 64 levels"),
    Refused("!" * 65 + "a", 1, 65, "more than 64 levels"),
    Refused("[" * 5000 + "]" * 5000, 1, 65, "more than 64 levels"),
    Refused("a" + ".b" * 64, 1, 2 + 2 * 64, "more than 64 levels"),
    Refused("a" + "[0]" * 3000, 1, 2 + 3 * 64, "more than 64 levels"),
    Refused("a[" * 3 + "b" + ("]" + ".c" * 40) * 3 + ".size()", 1, 123, "more than 64 levels"),
    Refused("a.any(x, " * 65 + "x" + ")" * 65, 1, 1 + 9 * 64, "more than 64 levels"),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused(case: Refused) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        parse(case.text)
    assert case.reason in refused.value.reason
    assert refused.value.place == (case.line, case.column)
    assert str(refused.value).endswith(f"(line {case.line}, column {case.column})")


def test_a_chain_is_not_deep() -> None:
    tree = parse(" || ".join(["a"] * 2000))
    assert isinstance(tree, Junction)
    assert len(tree.operands) == 2000


def test_the_deepest_expression_is_accepted() -> None:
    parse("(" * (EXPRESSION_DEPTH_MAX - 1) + "a" + ")" * (EXPRESSION_DEPTH_MAX - 1))
    parse("a" + ".b" * (EXPRESSION_DEPTH_MAX - 1))
    parse("!" * (EXPRESSION_DEPTH_MAX - 1) + "a")


def test_nodes_have_their_places() -> None:
    tree = parse("a.b ==\n  c[\n0]")
    assert isinstance(tree, Comparison)
    assert (tree.left.at, tree.at, tree.right.at) == ((1, 3), (1, 5), (2, 4))
    assert isinstance(tree.right, Index)
    assert tree.right.index.at == (3, 1)
