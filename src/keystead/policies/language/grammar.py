"""From the text of an expression to its syntax tree.

Here: the tokens, the grammar, the limits on length and depth, and messages that say what was expected where.
Not here: whether the names exist and the types fit (`type_checker`).

    or         = and { "||" and }
    and        = not { "&&" not }
    not        = "!" not | comparison
    comparison = postfix [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" ) postfix ]
    postfix    = primary { "." name [ arguments ] | "[" or [ ".." or ] "]" }
    primary    = "true" | "false" | integer | string | name | "(" or ")" | "[" [ or { "," or } ] "]"
               | ( "Timestamp" | "CronSpan" ) "(" string { "," string } ")"
"""

from __future__ import annotations

from keystead.api.spelling import did_you_mean
from keystead.policies.language.hints import hint
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
    Place,
    Slice,
    TimeFunction,
    UnknownFunction,
    parts,
    spelled,
)
from keystead.policies.language.tokens import WITH_PREDICATE, Token, arguments_of, tokens_of

LENGTH_MAX = 10_000
DEPTH_MAX = 64
INT_MAX = 2**256 - 1
_INT_DIGITS_MAX = 1_000
LIST_CHARACTERS_MAX = 200
"""The most characters of a list in the spelling of its items."""
"""A literal of more digits is refused without a conversion, because Python refuses to convert very long ones."""

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_LIST_FUNCTIONS = ("all", "any", "filter", "contains", "count")
_FUNCTIONS = {"Timestamp": 1, "CronSpan": 3}


def parse(text: str) -> Node:
    """The tree of an expression. Raises ExpressionRefused, naming the place and what was expected there."""
    if len(text) > LENGTH_MAX:
        raise ExpressionRefused(
            f"the expression has {len(text)} characters: at most {LENGTH_MAX} are allowed", Place(1, 1)
        )
    tree = _Parser(tokens_of(text)).whole()
    _check_depth(tree)
    return tree


def _check_depth(tree: Node) -> None:
    """Refuse a tree that is too deep for a recursive walk. This walk therefore has its own stack."""
    waiting: list[tuple[Node, int]] = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEPTH_MAX:
            raise _too_deep(node.at)
        waiting.extend((part, depth + 1) for part in parts(node))


def _list_text(of: Node) -> str:
    """A list as messages spell it, cut in front if it is long; "" for a list without a path."""
    node, steps = of, 0
    while isinstance(node, Field | Index | Slice | ListFunction):
        node, steps = node.of, steps + 1
        if steps > DEPTH_MAX:
            raise _too_deep(of.at)
    text = spelled(of)
    if text.startswith("("):
        return ""
    return text if len(text) <= LIST_CHARACTERS_MAX else f"…{text[-LIST_CHARACTERS_MAX:]}"


def _too_deep(at: Place) -> ExpressionRefused:
    return ExpressionRefused(f"the expression is nested more than {DEPTH_MAX} levels deep", at)


def _junction(operator: str, operands: list[Node]) -> Node:
    return operands[0] if len(operands) == 1 else Junction(operands[0].at, operator, tuple(operands))


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._rest = iter(tokens)
        self._token = next(self._rest)
        self._before: tuple[Token | None, Token | None] = (None, None)
        self._depth = 0
        self._scope: list[tuple[str, Node]] = []
        self._item_of: dict[str, str] = {}

    def whole(self) -> Node:
        tree = self._expression()
        if self._token.kind != "end":
            raise self._unexpected("an operator or the end of the expression")
        return tree

    def _unexpected(self, expected: str, instead: str = "") -> ExpressionRefused:
        instead = instead or hint(self._before, self._token)
        return ExpressionRefused(f"expected {expected}, found {self._token}{instead}", self._token.at)

    def _is_at(self, sign: str) -> bool:
        # The text of a sign or word of the grammar is never that of a name, number or string.
        return self._token.text == sign

    def _take(self) -> Token:
        token = self._token
        self._before = (self._before[1], token)
        self._token = next(self._rest, token)
        return token

    def _accept(self, sign: str) -> bool:
        if self._token.text == sign:
            self._take()
            return True
        return False

    def _require(self, text: str, expected: str = "") -> None:
        if not self._accept(text):
            raise self._unexpected(expected or f"`{text}`")

    def _expression(self) -> Node:
        """Disjunction and conjunction in one function, so that a level of nesting takes few frames of Python's
        stack."""
        if self._depth >= DEPTH_MAX:
            raise _too_deep(self._token.at)
        self._depth += 1
        alternatives = []
        while True:
            operands = [self._negation()]
            while self._accept("&&"):
                operands.append(self._negation())
            alternatives.append(_junction("&&", operands))
            if not self._accept("||"):
                break
        self._depth -= 1
        return _junction("||", alternatives)

    def _negation(self) -> Node:
        negated: list[Place] = []
        while self._is_at("!"):
            negated.append(self._take().at)
            if len(negated) > DEPTH_MAX:
                raise _too_deep(negated[-1])
        node = self._comparison()
        for at in reversed(negated):
            node = Not(at, node)
        return node

    def _comparison(self) -> Node:
        left = self._postfix()
        if self._token.text not in _COMPARISONS:
            return left
        operator = self._take()
        right = self._postfix()
        if self._token.text in _COMPARISONS:
            raise self._unexpected("`&&`, `||` or the end of the expression: comparisons do not chain")
        return Comparison(operator.at, operator.text, left, right)

    def _postfix(self) -> Node:
        node = self._primary()
        for _ in range(DEPTH_MAX):
            if self._accept("."):
                node = self._member(node)
            elif self._is_at("["):
                at = self._take().at
                start = self._expression()
                if self._accept(".."):
                    node = Slice(at, node, start, self._expression())
                    self._require("]")
                else:
                    node = Index(at, node, start)
                    self._require("]", "`..` or `]`")
            else:
                return node
        raise _too_deep(self._token.at)

    def _member(self, of: Node) -> Node:
        if self._token.kind != "name":
            raise self._unexpected("the name of a field or function")
        name = self._take()
        if name.text in WITH_PREDICATE:
            self._require("(")
            takes = f"; {arguments_of(name.text)}"
            if self._token.kind != "name":
                raise self._unexpected(f"a name for the variable of `{name.text}`", takes)
            variable = self._take().text
            if not self._accept(","):
                raise self._unexpected("`,`", takes)
            outer, self._item_of = self._item_of, {**self._item_of, variable: _list_text(of)}
            self._scope.append((variable, of))
            predicate = self._expression()
            self._scope.pop()
            self._item_of = outer
            self._require(")")
            return ListFunction(name.at, of, name.text, variable, predicate)
        if name.text == "contains":
            self._require("(")
            value = self._expression()
            self._require(")")
            return Contains(name.at, of, value)
        if name.text == "count":
            # Published examples write it with and without parentheses.
            if self._accept("("):
                self._require(")")
            return Count(name.at, of)
        if self._is_at("("):
            near = did_you_mean(name.text, _LIST_FUNCTIONS) or f": expected {', '.join(_LIST_FUNCTIONS)}"
            for node in (of, *(among for _, among in self._scope)):
                _check_depth(node)
            raise UnknownFunction(name.text, near, name.at, of, tuple(self._scope))
        return Field(name.at, of, name.text)

    def _primary(self) -> Node:
        token = self._token
        if token.kind == "int":
            return Literal(token.at, self._integer())
        if token.kind == "string":
            self._take()
            return Literal(token.at, token.text[1:-1])
        if self._accept("true"):
            return Literal(token.at, True)
        if self._accept("false"):
            return Literal(token.at, False)
        if self._accept("("):
            inner = self._expression()
            self._require(")", "an operator or `)`")
            return inner
        if self._accept("["):
            return ListLiteral(token.at, self._items())
        if token.kind == "name":
            self._take()
            return (
                self._function(token)
                if self._accept("(")
                else Name(token.at, token.text, self._item_of.get(token.text, ""))
            )
        raise self._unexpected("an expression")

    def _integer(self) -> int:
        token = self._take()
        if len(token.text) > _INT_DIGITS_MAX or int(token.text) > INT_MAX:
            raise ExpressionRefused(f"the number {token} is beyond the largest integer, {INT_MAX}", token.at)
        return int(token.text)

    def _items(self) -> tuple[Node, ...]:
        items: list[Node] = []
        if self._accept("]"):
            return ()
        while True:
            items.append(self._expression())
            if self._accept("]"):
                return tuple(items)
            self._require(",", "`,` or `]`")

    def _function(self, name: Token) -> Node:
        if name.text not in _FUNCTIONS:
            near = hint((None, None), name) or did_you_mean(name.text, _FUNCTIONS)
            near = near or ": the functions are Timestamp and CronSpan"
            raise ExpressionRefused(f"function does not exist: {name.text}{near}", name.at)
        arguments: list[Literal] = []
        for number in range(_FUNCTIONS[name.text]):
            if number:
                self._require(",")
            if self._token.kind != "string":
                raise self._unexpected(f"a string for argument {number + 1} of `{name.text}`")
            token = self._take()
            arguments.append(Literal(token.at, token.text[1:-1]))
        self._require(")")
        return TimeFunction(name.at, name.text, tuple(arguments))
