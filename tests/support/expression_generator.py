"""A generator of random expressions and requests: well-typed ones, and arbitrary texts.

Some values of the requests are unreadable.

All random choices come from a `random.Random`, so that a seed repeats them.
"""

from __future__ import annotations

from random import Random
from typing import Any

from keystead.primitives.unreadable import Unreadable

INTEGERS = [0, 1, 2, 5, 44, 2**127 - 1, -(2**127), 2**127, 2**255, 2**256 - 1, 2**400]
TYPES = ["ACTIVITY_TYPE_A", "ACTIVITY_TYPE_A_V2", "ACTIVITY_TYPE_B"]
BITCOIN = ["bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "tb1qcr8te4kr609gcawutmrza0j4xv80jy8zmfp6l0"]
"""One script on two networks."""

STRINGS = ["", "a", "b", "SIGN", "0xab", "0xAB", "0xABcd", "12", "-3", "hello", "ab\u00e9", *BITCOIN]
_TEXT_PATHS = [
    "activity.kind",
    "activity.action",
    "wallet.id",
    "wallet.label",
    "wallet_account.address",
    "eth.tx.to",
    "eth.tx.data",
    "eth.tx.function_name",
    "secret.static_properties['kind']",
    "secret.static_properties['none']",
]
_INT_PATHS = [
    "eth.eip_7702_authorization.nonce",
    "eth.tx.value",
    "eth.tx.gas",
    "activity.params.otp_length",
    "eth.eip_712.domain.chain_id",
]
_DYNAMIC_PATHS = [
    "eth.tx.contract_call_args['a']",
    "eth.tx.contract_call_args['b']",
    "eth.eip_712.message['a']",
    "eth.eip_712.message['b']['c']",
    "eth.eip_712.message['b'].c",
    "eth.eip_712.message['list'][0]",
]
_NUMERAL = "eth.eip_7702_authorization.nonce"
_TEXT_LISTS = ["activity.params.user_ids", "private_key.tags"]
_INT_LISTS = ["wallet_account.path_indexes"]


class Writer:
    """Writes well-typed conditions, most of them about what `random_values` fills."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def condition(self, depth: int, scope: tuple[tuple[str, str], ...] = ()) -> str:
        """`scope`: the variables in sight, each with the word for its type."""
        pick = self.chance.choice
        if depth <= 0:
            return pick(
                [
                    "true",
                    "false",
                    "wallet.imported",
                    "wallet.exported == true",
                    self.comparison(0, scope),
                    *(f"{name}.imported" for name, kind in scope if kind == "wallet"),
                ]
            )
        match self.chance.randrange(9):
            case 0 | 1:
                operator = pick([" && ", " || "])
                operands = [self.condition(depth - 1, scope) for _ in range(pick([2, 2, 3]))]
                return "(" + operator.join(operands) + ")"
            case 2:
                return f"!({self.condition(depth - 1, scope)})"
            case 3 | 4:
                return self.quantified(depth, scope)
            case 5:
                return self.membership(depth - 1, scope)
            case _:
                return self.comparison(depth - 1, scope)

    def quantified(self, depth: int, scope: tuple[tuple[str, str], ...]) -> str:
        items, kind = self.listing(depth - 1, scope)
        name = self.chance.choice(["x", "y", "wallet"] if kind == "wallet" else ["x", "y"])
        predicate = self.condition(depth - 1, (*(each for each in scope if each[0] != name), (name, kind)))
        return f"{items}.{self.chance.choice(['all', 'any'])}({name}, {predicate})"

    def listing(self, depth: int, scope: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        """A list, and the word for the type of its items."""
        items, kind = self.chance.choice(
            [
                ("wallets", "wallet"),
                (self.chance.choice(_TEXT_LISTS), "text"),
                (self.chance.choice(_INT_LISTS), "int"),
                ("eth.eip_712.message['list']", "dynamic"),
                (f"[{self.text(0, scope)}, {self.text(0, scope)}]", "text"),
                (f"[{self.integer(0, scope)}, {self.integer(0, scope)}]", "int"),
            ]
        )
        match self.chance.randrange(6):
            case 0 if depth > 0:
                inner = self.condition(depth - 1, (*(each for each in scope if each[0] != "z"), ("z", kind)))
                return f"{items}.filter(z, {inner})", kind
            case 1:
                low = self.chance.randrange(2)
                return f"{items}[{low}..{low + self.chance.randrange(2)}]", kind
            case _:
                return items, kind

    def membership(self, depth: int, scope: tuple[tuple[str, str], ...]) -> str:
        items, kind = self.listing(depth, scope)
        while kind == "wallet":
            items, kind = self.listing(depth, scope)
        sought = self.text(depth, scope) if kind == "text" else self.integer(depth, scope)
        if self.chance.random() < 0.2:
            sought = self.dynamic(scope)
        return self.chance.choice([f"{sought} in {items}", f"{items}.contains({sought})"])

    def comparison(self, depth: int, scope: tuple[tuple[str, str], ...]) -> str:
        pick = self.chance.choice
        equality, ordering = ["==", "!="], ["==", "!=", "<", "<=", ">", ">="]
        match self.chance.randrange(6):
            case 0 | 1:
                return f"{self.text(depth, scope)} {pick(equality)} {self.text(depth, scope)}"
            case 2 if "activity" not in {name for name, _ in scope} and pick([True, False, False]):
                return self.activity_type(scope)
            case 2:
                return f"{self.dynamic(scope)} {pick(ordering)} {self.integer(depth, scope)}"
            case 3 if "eth" not in {name for name, _ in scope} and pick([True, False, False]):
                quoted = pick(["'12'", "'0'", "5"])
                return pick([f"{_NUMERAL} {pick(equality)} {quoted}", f"{quoted} in [{_NUMERAL}]"])
            case 3:
                return f"{self.dynamic(scope)} {pick(equality)} {self.text(depth, scope)}"
            case _:
                return f"{self.integer(depth, scope)} {pick(ordering)} {self.integer(depth, scope)}"

    def activity_type(self, scope: tuple[tuple[str, str], ...]) -> str:
        """A comparison of the activity's type."""
        pick = self.chance.choice
        one, other, label = f"'{pick(TYPES)}'", f"'{pick(TYPES)}'", pick(["wallet.label", "activity.kind"])
        if "wallet" in {name for name, _ in scope}:
            label = one
        return pick(
            [
                f"activity.type {pick(['==', '!='])} {pick([one, label])}",
                f"{one} {pick(['==', '!='])} activity.type",
                f"activity.type in [{one}, {pick([other, label])}]",
                f"[{one}].contains(activity.type)",
                f"[activity.type, {other}].{pick(['any', 'all'])}(x, x {pick(['==', '!='])} {one})",
                f"[{one}, {other}].filter(x, x == activity.type).count() {pick(['==', '>', '!='])} {pick('01')}",
            ]
        )

    def text(self, depth: int, scope: tuple[tuple[str, str], ...]) -> str:
        pick = self.chance.choice
        names = [name for name, kind in scope if kind == "text"]
        labels = [f"{name}.label" for name, kind in scope if kind == "wallet"]
        hidden = {name for name, _ in scope}
        paths = [path for path in _TEXT_PATHS if path.split(".")[0] not in hidden]
        choices = [f"'{pick(STRINGS)}'", pick(paths), *names, *labels]
        if depth > 0:
            choices.append(f"{pick(paths)}[{self.integer(0, scope)}]")
            choices.append(f"{pick(paths)}[{pick(['0', '1'])}..{self.integer(0, scope)}]")
        return pick(choices)

    def integer(self, depth: int, scope: tuple[tuple[str, str], ...]) -> str:
        pick = self.chance.choice
        names = [name for name, kind in scope if kind == "int"]
        choices = [str(pick([0, 1, 2, 5, 44, 2**127 - 1])), pick(_INT_PATHS), *names]
        if depth > 0:
            choices.append(f"{self.listing(depth - 1, scope)[0]}.count()")
            choices.append(f"{pick(_INT_LISTS)}[{pick([0, 1])}]")
        return pick(choices)

    def dynamic(self, scope: tuple[tuple[str, str], ...]) -> str:
        names = [name for name, kind in scope if kind == "dynamic"]
        return self.chance.choice([*_DYNAMIC_PATHS, *names])


class _Absent:
    pass


def random_values(chance: Random, *, literals: bool = True) -> dict[str, Any]:
    """Random values of a request. Some of them lack a field or have one that is unreadable or of the wrong type.

    `literals`: an unreadable value may equal a literal.
    """
    pick = chance.choice

    def filled(value: Any) -> Any:
        return _Absent if chance.random() < 0.08 else value

    def some(value: Any) -> Any:
        if chance.random() < 0.08:
            return Unreadable("lost", pick([None, None, "a", "", "0xab", 0, 5]) if literals else None)
        return _Absent if chance.random() < 0.03 else value

    def struct(**fields: Any) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if value is not _Absent}

    def text() -> Any:
        return some(pick([*STRINGS, *STRINGS, None, 5]) if chance.random() < 0.3 else pick(STRINGS))

    def integer() -> Any:
        return some(pick(INTEGERS) if chance.random() < 0.3 else pick([0, 1, 2, 5]))

    def dynamic() -> Any:
        return some(pick([*INTEGERS, *STRINGS, True, False, [1, 2], {"c": 1}, None, "1" * 50]))

    def wallet() -> dict[str, Any]:
        return struct(id=text(), label=text(), imported=some(pick([True, False])), exported=some(pick([True, 1])))

    def items(values: Any) -> Any:
        read = [some(value) if chance.random() < 0.3 else value for value in values]
        return some([value for value in read if value is not _Absent])

    return struct(
        activity=struct(
            type=pick([text(), pick(TYPES), pick(TYPES)]),
            kind=text(),
            action=some("SIGN"),
            params=filled(struct(user_ids=items(chance.choices(STRINGS, k=2)), otp_length=integer())),
        ),
        wallet=filled(some(wallet())),
        wallets=filled(items([wallet() for _ in range(chance.randrange(4))])),
        wallet_account=filled(
            struct(address=text(), path_indexes=items(chance.choices([*INTEGERS, 44, 44, 0], k=2)))
        ),
        private_key=filled(struct(tags=items(chance.choices(STRINGS, k=chance.randrange(3))))),
        secret=filled({"static_properties": {"kind": pick(STRINGS)}}),
        eth=filled(
            {
                "tx": struct(
                    to=text(),
                    data=text(),
                    value=integer(),
                    gas=integer(),
                    function_name=text(),
                    contract_call_args=some(struct(a=dynamic(), b=dynamic())),
                ),
                "eip_712": struct(
                    domain=some(struct(chain_id=integer())),
                    message=some(
                        struct(
                            a=dynamic(),
                            b=some({"c": pick([*INTEGERS, *STRINGS])}),
                            list=pick(
                                [items([]), items([1, 2]), items(["a", "0xAB"]), items([True, 1]), "no list"]
                            ),
                        )
                    ),
                ),
                "eip_7702_authorization": struct(nonce=some(pick([*INTEGERS, *STRINGS]))),
            }
        ),
    )


def readable_anyhow(values: Any, chance: Random) -> Any:
    """The values with something random in place of each unreadable one."""
    match values:
        case Unreadable():
            some: list[Any] = [
                *STRINGS,
                *INTEGERS,
                True,
                False,
                [],
                [1, "a"],
                {"id": "a", "label": "b", "imported": True},
            ]
            return chance.choice(some)
        case dict():
            return {name: readable_anyhow(value, chance) for name, value in values.items()}
        case list() | tuple():
            return [readable_anyhow(value, chance) for value in values]
        case _:
            return values


_PLAIN = (
    "&& || ! == != < <= > >= . .. ( ) [ ] , ' \" = & | - @ # $ \\ in true false 0 1 42 'a' '0xAb' activity kind"
    " wallets approvers credentials eth tx to value all any filter contains count id x u Timestamp CronSpan"
    " time now type tags '1h' 'UTC'"
)
_SCRAPS = [*_PLAIN.split(), "\n", "\t", "\u00e9", "\U0001f511", "\x00", "9" * 40, "'* * * * *'"]


def random_text(chance: Random) -> str:
    """A text that may be no expression: random tokens of the language, or an expression with an error."""
    if chance.random() < 0.4:
        glue = chance.choice(["", " "])
        return glue.join(chance.choices(_SCRAPS, k=chance.randrange(1, 40)))
    text = Writer(chance).condition(chance.randrange(4))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text = text[:at] + chance.choice(_SCRAPS) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randrange(1, 6) :]
            case 2:
                other = chance.randrange(len(text) + 1)
                text = text[:at] + text[min(at, other) : max(at, other)] + text[at:]
            case _:
                text = text[:at] + chr(chance.choice([0, 9, 10, 39, 96, 127, 233, 8364, 55296, 128273])) + text[at:]
    return text
