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

from keystead.api.choices import did_you_mean
from keystead.policies.bounds import (
    EXPRESSION_CHARACTERS_MAX,
    EXPRESSION_DEPTH_MAX,
    INTEGER_DIGITS_MAX,
    INTEGER_MAX,
)
from keystead.policies.language import syntax
from keystead.policies.language.hints import hint
from keystead.policies.language.tokens import WITH_PREDICATE, Token, arguments_of, tokens_of

_LIST_CHARACTERS_SHOWN = 200
"""The most characters of a list in the spelling of its items."""

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_LIST_FUNCTIONS = ("all", "any", "filter", "contains", "count")
_FUNCTIONS = {"Timestamp": 1, "CronSpan": 3}


def parse(text: str) -> syntax.Node:
    """The tree of an expression. Raises ExpressionRefused, naming the place and what was expected there."""
    if len(text) > EXPRESSION_CHARACTERS_MAX:
        raise syntax.ExpressionRefused(
            f"the expression has {len(text)} characters: at most {EXPRESSION_CHARACTERS_MAX} are allowed",
            syntax.Place(1, 1),
        )
    tree = _Parser(tokens_of(text)).whole()
    _check_depth(tree)
    return tree


def _check_depth(tree: syntax.Node) -> None:
    """Refuse a tree that is too deep for a recursive walk. This walk therefore has its own stack."""
    waiting: list[tuple[syntax.Node, int]] = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > EXPRESSION_DEPTH_MAX:
            raise _too_deep(node.at)
        waiting.extend((part, depth + 1) for part in syntax.parts(node))


def _list_text(of: syntax.Node) -> str:
    """A list as messages spell it, cut in front if it is long; "" for a list without a path."""
    node, steps = of, 0
    while isinstance(node, syntax.Field | syntax.Index | syntax.Slice | syntax.ListFunction):
        node, steps = node.of, steps + 1
        if steps > EXPRESSION_DEPTH_MAX:
            raise _too_deep(of.at)
    text = syntax.spelled(of)
    if text.startswith("("):
        return ""
    return text if len(text) <= _LIST_CHARACTERS_SHOWN else f"…{text[-_LIST_CHARACTERS_SHOWN:]}"


def _too_deep(at: syntax.Place) -> syntax.ExpressionRefused:
    return syntax.ExpressionRefused(f"the expression is nested more than {EXPRESSION_DEPTH_MAX} levels deep", at)


def _junction(operator: str, operands: list[syntax.Node]) -> syntax.Node:
    return operands[0] if len(operands) == 1 else syntax.Junction(operands[0].at, operator, tuple(operands))


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._rest = iter(tokens)
        self._token = next(self._rest)
        self._before: tuple[Token | None, Token | None] = (None, None)
        self._depth = 0
        self._scope: list[tuple[str, syntax.Node]] = []
        self._item_of: dict[str, str] = {}

    def whole(self) -> syntax.Node:
        tree = self._expression()
        if self._token.kind != "end":
            raise self._unexpected("an operator or the end of the expression")
        return tree

    def _unexpected(self, expected: str, instead: str = "") -> syntax.ExpressionRefused:
        instead = instead or hint(self._before, self._token)
        return syntax.ExpressionRefused(f"expected {expected}, found {self._token}{instead}", self._token.at)

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

    def _expression(self) -> syntax.Node:
        """Disjunction and conjunction in one function, so that a level of nesting takes few frames of Python's
        stack."""
        if self._depth >= EXPRESSION_DEPTH_MAX:
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

    def _negation(self) -> syntax.Node:
        negated: list[syntax.Place] = []
        while self._is_at("!"):
            negated.append(self._take().at)
            if len(negated) > EXPRESSION_DEPTH_MAX:
                raise _too_deep(negated[-1])
        node = self._comparison()
        for at in reversed(negated):
            node = syntax.Not(at, node)
        return node

    def _comparison(self) -> syntax.Node:
        left = self._postfix()
        if self._token.text not in _COMPARISONS:
            return left
        operator = self._take()
        right = self._postfix()
        if self._token.text in _COMPARISONS:
            raise self._unexpected("`&&`, `||` or the end of the expression: comparisons do not chain")
        return syntax.Comparison(operator.at, operator.text, left, right)

    def _postfix(self) -> syntax.Node:
        node = self._primary()
        for _ in range(EXPRESSION_DEPTH_MAX):
            if self._accept("."):
                node = self._member(node)
            elif self._is_at("["):
                at = self._take().at
                start = self._expression()
                if self._accept(".."):
                    node = syntax.Slice(at, node, start, self._expression())
                    self._require("]")
                else:
                    node = syntax.Index(at, node, start)
                    self._require("]", "`..` or `]`")
            else:
                return node
        raise _too_deep(self._token.at)

    def _member(self, of: syntax.Node) -> syntax.Node:
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
            return syntax.ListFunction(name.at, of, name.text, variable, predicate)
        if name.text == "contains":
            self._require("(")
            value = self._expression()
            self._require(")")
            return syntax.Contains(name.at, of, value)
        if name.text == "count":
            # Published examples write it with and without parentheses.
            if self._accept("("):
                self._require(")")
            return syntax.Count(name.at, of)
        if self._is_at("("):
            near = did_you_mean(name.text, _LIST_FUNCTIONS) or f": expected {', '.join(_LIST_FUNCTIONS)}"
            for node in (of, *(among for _, among in self._scope)):
                _check_depth(node)
            raise syntax.UnknownFunction(name.text, near, name.at, of, tuple(self._scope))
        return syntax.Field(name.at, of, name.text)

    def _primary(self) -> syntax.Node:
        token = self._token
        if token.kind == "int":
            return syntax.Literal(token.at, self._integer())
        if token.kind == "string":
            self._take()
            return syntax.Literal(token.at, token.text[1:-1])
        if self._accept("true"):
            return syntax.Literal(token.at, True)
        if self._accept("false"):
            return syntax.Literal(token.at, False)
        if self._accept("("):
            inner = self._expression()
            self._require(")", "an operator or `)`")
            return inner
        if self._accept("["):
            return syntax.ListLiteral(token.at, self._items())
        if token.kind == "name":
            self._take()
            return (
                self._function(token)
                if self._accept("(")
                else syntax.Name(token.at, token.text, self._item_of.get(token.text, ""))
            )
        raise self._unexpected("an expression")

    def _integer(self) -> int:
        token = self._take()
        if len(token.text) > INTEGER_DIGITS_MAX or int(token.text) > INTEGER_MAX:
            raise syntax.ExpressionRefused(
                f"the number {token} is beyond the largest integer, {INTEGER_MAX}", token.at
            )
        return int(token.text)

    def _items(self) -> tuple[syntax.Node, ...]:
        items: list[syntax.Node] = []
        if self._accept("]"):
            return ()
        while True:
            items.append(self._expression())
            if self._accept("]"):
                return tuple(items)
            self._require(",", "`,` or `]`")

    def _function(self, name: Token) -> syntax.Node:
        if name.text not in _FUNCTIONS:
            near = hint((None, None), name) or did_you_mean(name.text, _FUNCTIONS)
            near = near or ": the functions are Timestamp and CronSpan"
            raise syntax.ExpressionRefused(f"function does not exist: {name.text}{near}", name.at)
        arguments: list[syntax.Literal] = []
        for number in range(_FUNCTIONS[name.text]):
            if number:
                self._require(",")
            if self._token.kind != "string":
                raise self._unexpected(f"a string for argument {number + 1} of `{name.text}`")
            token = self._take()
            arguments.append(syntax.Literal(token.at, token.text[1:-1]))
        self._require(")")
        return syntax.TimeFunction(name.at, name.text, tuple(arguments))
