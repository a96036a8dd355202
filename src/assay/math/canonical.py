"""One spelling for each tree: rational numbers worked out, what commutes sorted, `>` turned round.

Reading a canonical form gives the same canonical form again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.math.limits import MOST_BITS
from assay.math.tree import Group, Matrix, Node, Num, Op, Quantity, Relation, Sym, Text

_FLIPPED = {">": "<", ">=": "<="}
LONGEST = 400
"""A canonical form is cut to this length where it is shown."""


def canonical(node: Node) -> str:
    """The canonical form as text."""
    return _show(fold(node), 0)


def fold(node: Node) -> Node:
    """The tree with its rational numbers worked out and its sums and products flat and sorted."""
    match node:
        case Num() | Sym():
            return node
        case Op():
            return _fold_op(node.op, tuple(fold(n) for n in node.args))
        case Group():
            items = tuple(fold(n) for n in node.items)
            return Group(node.kind, _sorted(items) if node.kind == "set" else items, node.open, node.close)
        case Relation():
            return _fold_relation(node)
        case Matrix():
            return Matrix(tuple(tuple(fold(cell) for cell in row) for row in node.rows))
        case Quantity():
            return Quantity(fold(node.value), node.unit)
        case _:
            return node


def _sorted(items: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(sorted(items, key=lambda n: _show(n, 0))) if len(items) > 1 else items


def _fold_relation(node: Relation) -> Node:
    sides, signs = tuple(fold(n) for n in node.sides), node.signs
    if all(s in (">", ">=") for s in signs):
        return Relation(sides[::-1], tuple(_FLIPPED[s] for s in signs[::-1]))
    return Relation(sides, signs)


def _fold_op(op: str, args: tuple[Node, ...]) -> Node:
    match op:
        case "neg":
            return _times((Num(-1), args[0]))
        case "+":
            return _plus(args)
        case "*":
            return _times(args)
        case "/":
            return _quotient(*args)
        case "^":
            return _raise(*args)
        case "root":
            return _raise(args[0], _raise(args[1], Num(-1)))
        case _:
            return Op(op, args)


def _flat(op: str, args: tuple[Node, ...]) -> list[Node]:
    return [n for a in args for n in (a.args if isinstance(a, Op) and a.op == op else (a,))]


def _plus(args: tuple[Node, ...]) -> Node:
    number: int | Fraction = 0
    rest = list[Node]()
    for n in _flat("+", args):
        if isinstance(n, Num):
            number += n.value
        else:
            rest.append(n)
    terms = (*_sorted(tuple(rest)), *((_number(number),) if number or not rest else ()))
    return terms[0] if len(terms) == 1 else Op("+", terms)


def _times(args: tuple[Node, ...]) -> Node:
    number: int | Fraction = 1
    rest = list[Node]()
    for n in _flat("*", args):
        if isinstance(n, Num) and number.numerator.bit_length() < MOST_BITS:
            number *= n.value
        else:
            rest.append(n)
    if not number or not rest:
        return _number(number)
    factors = (*((_number(number),) if number != 1 else ()), *_sorted(tuple(rest)))
    return factors[0] if len(factors) == 1 else Op("*", factors)


_FEW = 400
"""Fractions and powers of up to so many bits are worked out."""


def _quotient(top: Node, bottom: Node) -> Node:
    if (
        isinstance(top, Num)
        and isinstance(bottom, Num)
        and bottom.value
        and max(_bits(top.value), _bits(bottom.value)) < _FEW
    ):
        return _number(Fraction(top.value, bottom.value))
    return _times((top, _raise(bottom, Num(-1))))


def _raise(base: Node, exponent: Node) -> Node:
    if not isinstance(exponent, Num):
        return Op("^", (base, exponent))
    n = exponent.value
    if n == 1:
        return base
    if not isinstance(n, int):
        return Op("^", (base, exponent))
    if isinstance(base, Num) and (base.value or n > 0) and abs(n) * _bits(base.value) < _FEW:
        return _number(base.value**n if n > 0 else Fraction(base.value) ** n)
    if isinstance(base, Op) and base.op == "*":
        return _times(tuple(_raise(f, exponent) for f in base.args))
    inner = base.args[1] if isinstance(base, Op) and base.op == "^" else None
    if isinstance(base, Op) and isinstance(inner, Num) and isinstance(inner.value, int):
        return _raise(base.args[0], Num(inner.value * n))
    return Op("^", (base, exponent))


def _bits(value: int | Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _number(value: int | Fraction) -> Num:
    return Num(value.numerator if value.denominator == 1 else value)


# -- text ------------------------------------------------------------------------------------------------------------

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4


def _show(node: Node, tight: int) -> str:
    """The text of a folded tree, in brackets where what is around it binds tighter."""
    match node:
        case Num():
            return _show_number(node.value, tight)
        case Sym():
            return node.name
        case Text():
            return node.words
        case Group():
            inside = ", ".join(_show(n, 0) for n in node.items)
            opened, closed = {"set": ("\\{", "\\}"), "tuple": (node.open, node.close)}.get(node.kind, ("", ""))
            return f"{opened}{inside}{closed}"
        case Relation():
            parts = [_show(node.sides[0], 0)]
            for sign, side in zip(node.signs, node.sides[1:], strict=True):
                parts += [_SIGN_TEXT.get(sign, sign), _show(side, 0)]
            return " ".join(parts)
        case Matrix():
            return "[" + ", ".join("[" + ", ".join(_show(n, 0) for n in row) + "]" for row in node.rows) + "]"
        case Quantity():
            return f"{_show(node.value, 0)} {' '.join(node.unit)}"
        case Op():
            return _show_op(node, tight)


_SIGN_TEXT = {"in": "\\in", "notin": "\\notin", "~": "\\approx", "->": "\\to", "subset": "\\subset", "prop": "\\propto"}


def _show_number(value: int | Fraction, tight: int) -> str:
    if abs(value.numerator).bit_length() > 12_000 or value.denominator.bit_length() > 12_000:
        return f"<a number of {abs(value.numerator).bit_length()} / {value.denominator.bit_length()} bits>"
    text = str(value)
    return f"({text})" if (tight >= _POWER and not text.isdecimal()) or (tight and value < 0) else text


def _show_op(node: Op, tight: int) -> str:
    written = _OPERATIONS.get(node.op) or (_LOG if node.op == "log" and len(node.args) == 2 else _FUNCTION)
    strength = written[0]
    text = written[1](node.op, node.args)
    return f"({text})" if tight > strength or (tight == strength == _POWER) else text


def _factors(op: str, args: tuple[Node, ...]) -> str:
    rest = "*".join(_show(n, _PRODUCT) for n in args[1:])
    if isinstance(args[0], Num) and args[0].value == -1:
        return "-" + rest
    return f"{_show(args[0], 0 if _negative(args[0]) else _PRODUCT)}*{rest}"


def _listed(args: tuple[Node, ...]) -> str:
    return ", ".join(_show(n, 0) for n in args)


_Written = tuple[int, Callable[[str, tuple[Node, ...]], str]]
_SETS: _Written = (0, lambda op, args: f" \\{op} ".join(_show(n, 0) for n in args))
_MARK: _Written = (_POWER, lambda op, args: _show(args[0], _ATOM) + ("°" if op == "deg" else op))
_SIGN: _Written = (_SUM, lambda op, args: f"\\{op} {_show(args[0], _PRODUCT)}")
_WHOLE: _Written = (_ATOM, lambda op, args: f"\\l{op} {_show(args[0], 0)} \\r{op}")
_FUNCTION: _Written = (_ATOM, lambda op, args: f"{op}({_listed(args)})")
_LOG: _Written = (_ATOM, lambda op, args: f"\\log_{{{_show(args[1], 0)}}}({_show(args[0], 0)})")
_OPERATIONS: dict[str, _Written] = {
    "+": (_SUM, lambda op, args: " + ".join(_show(n, _SUM) for n in args).replace(" + -", " - ")),
    "*": (_PRODUCT, _factors),
    "^": (_POWER, lambda op, args: f"{_show(args[0], _ATOM)}^{_show(args[1], _ATOM)}"),
    "deg": _MARK,
    "!": _MARK,
    "!!": _MARK,
    "ratio": (0, lambda op, args: " : ".join(_show(n, _SUM) for n in args)),
    "base": (_ATOM, lambda op, args: f"{_show(args[2], _ATOM)}_{{{_show(args[1], 0)}}}"),
    "cup": _SETS,
    "cap": _SETS,
    "setminus": _SETS,
    "pm": _SIGN,
    "mp": _SIGN,
    "abs": (_ATOM, lambda op, args: f"|{_show(args[0], 0)}|"),
    "floor": _WHOLE,
    "ceil": _WHOLE,
    "apply": (_ATOM, lambda op, args: f"{_show(args[0], _ATOM)}({_listed(args[1:])})"),
}
"""How each operation is written, and how tightly what it makes holds together."""


def _negative(node: Node) -> bool:
    return isinstance(node, Num) and node.value < 0
