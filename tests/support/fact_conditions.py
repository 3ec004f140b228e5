"""Random conditions about the facts of one transaction, well-typed, with literals that some of its facts equal."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.types import TEXTS, ListOf, MapOf, Scalar, StructOf, Type
from keystead.primitives.unreadable import Unreadable


def leaves(value: Any) -> list[Any]:
    """Every text, number and unreadable value inside."""
    if isinstance(value, Mapping):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list | tuple):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value]


class FactWriter:
    """Writes conditions about these keywords. `others`: more facts whose values are used as literals.

    The literals that unreadable facts have are never used.
    """

    def __init__(self, chance: Random, keywords: Mapping[str, Any], others: Mapping[str, Any]) -> None:
        self._chance = chance
        seen, known = leaves(keywords), leaves(others)
        taken = [leaf.literal for leaf in seen if isinstance(leaf, Unreadable)]
        usable = [leaf for leaf in (*seen, *known) if not isinstance(leaf, bool | Unreadable) and leaf not in taken]
        self._texts = [leaf for leaf in usable if isinstance(leaf, str) and "'" not in leaf] or ["v"]
        self._numbers = [leaf for leaf in usable if isinstance(leaf, int) and 0 <= leaf < 2**255] or [7]
        self._keywords = [(chain, member) for chain, members in keywords.items() for member in members]

    def condition(self, depth: int) -> str:
        match self._chance.randrange(4) if depth > 0 else 0:
            case 1:
                operator = self._chance.choice([" && ", " || "])
                return "(" + operator.join(self.condition(depth - 1) for _ in range(2)) + ")"
            case 2:
                return f"!({self.condition(depth - 1)})"
            case _:
                chain, member = self._chance.choice(self._keywords)
                kind = KEYWORDS[Clause.CONDITION][chain]
                assert isinstance(kind, StructOf)
                return self._about(kind.fields[member], f"{chain}.{member}", depth)

    def _about(self, kind: Type, path: str, depth: int) -> str:
        pick = self._chance.choice
        match kind:
            case StructOf(fields=fields):
                name = pick(list(fields))
                return self._about(fields[name], f"{path}.{name}", depth)
            case ListOf(item=item):
                return self._about_list(item, path, depth)
            case MapOf(value=value):
                return self._about(value, f"{path}['{pick(['amount', 'to', 'limit', 'steps', 'payer'])}']", depth)
            case Scalar.BOOL:
                return pick([path, f"!{path}", f"{path} == true", f"{path} != true"])
            case Scalar.INT | Scalar.NUMERAL:
                number = pick(self._numbers) + pick([0, 0, 0, 1])
                operator = pick(["==", "!=", "<", "<=", ">", ">="])
                forms = [f"{path} {operator} {number}", f"{number} {operator} {path}", f"{path} in [{number}, 7]"]
                return pick(forms)
            case Scalar.DYNAMIC:
                kinds: list[Type] = [Scalar.INT, Scalar.STRING, Scalar.BOOL, ListOf(kind)]
                return self._about(pick(kinds), path, depth)
            case _:
                assert kind in TEXTS
                return self._about_text(path)

    def _about_text(self, path: str) -> str:
        pick = self._chance.choice
        text, other = pick(self._texts), pick(self._texts)
        return pick(
            [
                f"{path} == '{text}'",
                f"'{text}' != {path}",
                f"{path} in ['{text}', '{other}']",
                f"['{text}'].contains({path})",
                f"[{path}, '{other}'].contains('{text}')",
                f"{path}[0..2] == '{text[:2]}'",
            ]
        )

    def _about_list(self, item: Type, path: str, depth: int) -> str:
        pick = self._chance.choice
        variable = f"v{path.count('(')}"
        count = f"{pick(['==', '!=', '<', '>='])} {pick([0, 1, 2])}"
        forms = [f"{path}.count() {count}", self._about(item, f"{path}[{pick([0, 0, 1])}]", depth)]
        if depth >= 0:
            predicate = self._about(item, variable, depth - 1)
            forms += [f"{path}.{function}({variable}, {predicate})" for function in ("any", "all") * 2]
            forms += [f"{path}.filter({variable}, {predicate}).count() {count}"]
        if item in TEXTS:
            forms += [f"{path}.contains('{pick(self._texts)}')", f"'{pick(self._texts)}' in {path}"]
        return pick(forms)
