"""What to tell whoever writes a DENY policy: where its condition fails, so that it denies nothing.

A condition is followed through every kind of activity at once, without any request: what is known of a kind alone
(its type, which keywords it fills) settles much of it. Where an operand fails and none of the others settles the
matter, the policy might have been meant to deny, and does not.
Not here: which kind fills what (`situations`), the setting that lets such a policy deny (`hearing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from keystead.api.enums import Effect
from keystead.api.records import Policy
from keystead.policies.activity_shapes import OPTIONAL, Situations, situations
from keystead.policies.grammar import parse
from keystead.policies.syntax import (
    Comparison,
    Contains,
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
    parts,
    spelled,
)

NAMED_MAX = 6
"""How many kinds of activity, or paths, one warning names."""


def unsafe_denials(policies: Iterable[Policy], *, fail_closed: bool = False) -> list[str]:
    """A warning for each way in which the condition of a DENY policy fails although the policy might apply.

    `fail_closed`: it then denies, all that it might have been meant for and everything else that fails it. Of a
    condition that cannot be read it says nothing: such a policy is refused when it is made.
    """
    denies = "it denies everything" if fail_closed else "it denies nothing"
    return [
        f"DENY policy {_called(policy)}: {denies}{where}"
        for policy in policies
        if policy.effect is Effect.DENY and policy.condition
        for where in _failing(policy.condition)
    ]


def _called(policy: Policy) -> str:
    """A policy in a file has no id of its own."""
    known = f" ({policy.policy_id})" if policy.policy_id != policy.policy_name else ""
    return f"{policy.policy_name!r}{known}"


def is_settled_by_type(condition: str, activity_type: str) -> bool:
    """Whether a condition is false of every activity of this type, whatever else is asked of it."""
    try:
        tree = parse(condition)
    except ExpressionRefused:
        return False
    among = situations()
    of_type = among.known["activity.type"].get(activity_type, 0)
    return of_type != 0 and of_type & ~Survey(among).of(tree).false == 0


def _failing(condition: str) -> Iterator[str]:
    """Where it fails, in words."""
    try:
        tree = parse(condition)
    except ExpressionRefused:
        return
    among = situations()
    survey = Survey(among)
    said = survey.of(tree)
    unsafe = said.fails & ~said.false
    if unsafe == among.everywhere:
        yield f", for its condition fails on every activity: {_listed(survey.absent)} is absent"
        return
    for path, absent in survey.absent.items():
        if absent & unsafe:
            yield f" where its condition fails because {path} is absent: {_described(among, absent & unsafe)}"
    if survey.optional and said.false != among.everywhere:
        yield f" where its condition fails because {_listed(survey.optional)} is absent or out of range"


def _listed(texts: Iterable[str]) -> str:
    """The texts, without those that another only continues: of a.b and a.b[…], the latter says it all."""
    given = list(texts)
    listed = [text for text in given if not any(other.startswith(f"{text}[") for other in given)]
    more = f" or {len(listed) - NAMED_MAX} more" if len(listed) > NAMED_MAX else ""
    return " or ".join(listed[:NAMED_MAX]) + more


def _described(among: Situations, unsafe: int) -> str:
    """The kinds of activity in a set of situations, in few words."""
    whole, partly = among.kinds_in(unsafe)
    spared = frozenset(situation.kind for situation in among.each) - whole - partly
    some = [f"some forms of {kind}" for kind in sorted(partly)]
    if len(whole) > NAMED_MAX and len(spared) <= NAMED_MAX and len(some) <= NAMED_MAX:
        but = f" but {', '.join(sorted(spared))}" if spared else ""
        return " and ".join([f"every kind of activity{but}", *([", ".join(some)] if some else [])])
    kinds = [*some, *sorted(whole)]
    more = f" and {len(kinds) - NAMED_MAX} more kinds of activity" if len(kinds) > NAMED_MAX else ""
    return ", ".join(kinds[:NAMED_MAX]) + more


class Said(NamedTuple):
    """Of a boolean: where it is certainly true, where certainly false, and where some part of it fails.

    What fails is neither, but a junction that another operand settles may be. The items of a list are taken to be
    there: a predicate that fails, fails.
    """

    true: int
    false: int
    fails: int


class Survey:
    """One walk through a condition. `absent` collects the paths that some situations do not fill, `optional` what
    may fail in any."""

    def __init__(self, among: Situations) -> None:
        self._among = among
        self.absent: dict[str, int] = {}
        self.optional: dict[str, None] = {}

    def of(self, node: Node, variables: frozenset[str] = frozenset()) -> Said:
        match node:
            case Literal(value=bool() as value):
                return Said(self._among.everywhere if value else 0, 0 if value else self._among.everywhere, 0)
            case Not(of=inner):
                said = self.of(inner, variables)
                return Said(said.false, said.true, said.fails)
            case Junction(operator=operator, operands=operands):
                return self._junction(operator, [self.of(operand, variables) for operand in operands])
            case Comparison(operator=operator, left=left, right=right):
                fails = self._fails(node, variables)
                true, known = self._compared(operator, left, right, variables)
                return Said(true & ~fails, known & ~true & ~fails, fails)
            case Contains(of=of, value=value):
                fails = self._fails(node, variables)
                true, known = self._compared("in", value, of, variables)
                return Said(true & ~fails, known & ~true & ~fails, fails)
            case ListFunction(of=of, function=function, variable=variable, predicate=predicate):
                each = self.of(predicate, variables | {variable})
                fails = each.fails | self._fails(of, variables)
                # Of an empty list, all is true and any is false.
                return Said(each.true if function == "all" else 0, each.false if function == "any" else 0, fails)
            case _:
                return Said(0, 0, self._fails(node, variables))

    def _junction(self, operator: str, operands: list[Said]) -> Said:
        true, false, fails = (self._among.everywhere,) * 2 + (0,)
        some_true = some_false = 0
        for operand in operands:
            true, false = true & operand.true, false & operand.false
            some_true, some_false = some_true | operand.true, some_false | operand.false
            fails |= operand.fails
        return Said(some_true, false, fails) if operator == "||" else Said(true, some_false, fails)

    def _compared(self, operator: str, left: Node, right: Node, variables: frozenset[str]) -> tuple[int, int]:
        """Where a comparison is true, among the situations where its outcome is known, and those."""
        if not isinstance(left, Name | Field):
            left, right = right, left
            if operator == "in":  # a literal in a list that the request gives
                return 0, 0
        values = self._values(left, variables)
        if not values or operator not in ("==", "!=", "in"):
            return 0, 0
        literals = right.items if isinstance(right, ListLiteral) else (right,)
        if not all(isinstance(literal, Literal) for literal in literals):
            return 0, 0
        sought = {literal.value for literal in literals if isinstance(literal, Literal)}
        known = equal = 0
        for value, where in values.items():
            known |= where
            if value in sought:
                equal |= where
        return (known & ~equal if operator == "!=" else equal), known

    def _values(self, node: Node, variables: frozenset[str]) -> Mapping[str, int]:
        path = _path(node, variables)
        return self._among.known.get(path, {}) if path else {}

    def _fails(self, node: Node, variables: frozenset[str]) -> int:
        """Where evaluating this node certainly fails."""
        fails = 0
        if isinstance(node, Index | Slice):
            self.optional[spelled(node)] = None
        if isinstance(node, ListFunction):
            return self.of(node, variables).fails
        path = _path(node, variables)
        if path in OPTIONAL or (isinstance(node, Field) and node.name == "parsed_instruction_data"):
            self.optional[spelled(node)] = None
        if path:
            present = self._among.present.get(path)
            if present is not None:
                fails = self._among.everywhere & ~present
                self.absent[path] = self.absent.get(path, 0) | fails
        for part in parts(node):
            fails |= self._fails(part, variables)
        return fails


def _path(node: Node, variables: frozenset[str]) -> str:
    """A keyword and the fields that lead from it, eth.tx.to; "" for anything else."""
    match node:
        case Name(name=name) if name not in variables:
            return name
        case Field(of=of, name=name):
            path = _path(of, variables)
            return f"{path}.{name}" if path else ""
        case _:
            return ""
