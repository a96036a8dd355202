"""The value of an expression at a point, to any precision; exact as long as that is possible.

Every variable, every unknown function and every operation that is not worked out stands for a fixed pseudo-random
number: two expressions that are equal as functions are equal at such a point, and others are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, DecimalException
from fractions import Fraction

from assay.math import elementary, precise
from assay.math.limits import LARGEST_FACTORIAL, MOST_STEPS, MOST_TERMS, TooLarge, Unreadable
from assay.math.meter import charge
from assay.math.point import NeedsIntegers, Point, noise
from assay.math.precise import Complex, Value
from assay.math.tree import Group, Matrix, Node, Num, Op, Quantity, Sym


def evaluate(node: Node, at: Point) -> Value:
    """The value of an expression."""
    before = at.work
    try:
        return _value(node, at)
    except (DecimalException, ZeroDivisionError, OverflowError, ValueError) as error:
        raise TooLarge(f"it cannot be worked out: {type(error).__name__}") from None
    finally:
        at.cost += at.work - before


def _value(node: Node, at: Point) -> Value:
    at.work += 1
    if at.work > MOST_STEPS:
        raise TooLarge("an expression that takes too much work")
    if isinstance(node, Num):
        return precise.bounded(node.value)
    if isinstance(node, Sym):
        return _symbol(node.name, at)
    if isinstance(node, Op):
        rule = RULES.get(node.op)
        if rule is not None:
            if node.op in _DEAR:
                digits = precise.precision()
                dear = digits // 4 + digits * digits // 500
                at.cost += dear
                charge(dear)
            return rule(node.args, at)
    if isinstance(node, Quantity) and node.unit == ("%",):
        return precise.divide(_value(node.value, at), 100)
    raise Unreadable(f"{getattr(node, 'op', type(node).__name__)} has no value")


_DEAR = frozenset(
    {"^", "root", "log", "ln", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "asin", "acos"}
    | {"atan", "acot", "asec", "acsc", "asinh", "acosh", "atanh", "!", "!!", "binom", "perm"}
)
"""Operations that take much longer than an addition, and the longer the more digits there are."""


def _symbol(name: str, at: Point) -> Value:
    if name == "pi":
        return precise.pi()
    if name in at.bound:
        return at.bound[name]
    if name == "e":
        return precise.e()
    if name == "i":
        return Complex(Decimal(0), Decimal(1))
    if name == "oo" or name in ("Reals", "..."):
        raise Unreadable(f"{name} is no number")
    return at.variable(name)


Args = tuple[Node, ...]


def _sum(args: Args, at: Point) -> Value:
    total = _value(args[0], at)
    for arg in args[1:]:
        term = _value(arg, at)
        if not (isinstance(total, (int, Fraction)) and isinstance(term, (int, Fraction))):
            _note_absorbed(total, term, at)
        total = precise.add(total, term)
    return total


def _note_absorbed(a: Value, b: Value, at: Point) -> None:
    x, y = precise.size(a), precise.size(b)
    if x and y and abs(x.adjusted() - y.adjusted()) > precise.precision() - 25:
        at.absorbed = True


def _product(args: Args, at: Point) -> Value:
    return precise.multiply(_value(args[0], at), _value(args[1], at))


def _quotient(args: Args, at: Point) -> Value:
    return precise.divide(_value(args[0], at), _value(args[1], at))


def _power(args: Args, at: Point) -> Value:
    base, exponent = args
    if isinstance(base, Sym) and base.name == "e" and "e" not in at.bound:
        return precise.exp(_value(exponent, at))
    b, x = _value(base, at), _value(exponent, at)
    if isinstance(b, int) and b < 0 and isinstance(x, Decimal):
        raise NeedsIntegers  # (-1)^n
    return precise.power(b, x)


def _root(args: Args, at: Point) -> Value:
    degree = precise.simple(_value(args[1], at))
    if not isinstance(degree, int):
        return precise.power(_value(args[0], at), precise.divide(1, degree))
    return precise.root(_value(args[0], at), degree)


def _natural(node: Node, at: Point) -> int:
    v = precise.simple(_value(node, at))
    if not isinstance(v, int):
        if at.number < 10 and isinstance(v, Decimal):
            raise NeedsIntegers
        raise Unreadable("a natural number is needed")
    return v


def _factorial(args: Args, at: Point) -> Value:
    n = _natural(args[0], at)
    if n < 0 or n > LARGEST_FACTORIAL:
        raise TooLarge(f"the factorial of {n if abs(n) < 10**9 else 'a long number'}")
    return precise.bounded(math.factorial(n))


def _double_factorial(args: Args, at: Point) -> Value:
    n = _natural(args[0], at)
    if n < 0 or n > LARGEST_FACTORIAL:
        raise TooLarge("a double factorial")
    return precise.bounded(math.prod(range(n, 0, -2)))


def _binomial(args: Args, at: Point) -> Value:
    k = _natural(args[1], at)
    n = precise.simple(_value(args[0], at))
    if isinstance(n, int) and 0 <= n <= LARGEST_FACTORIAL:
        return precise.bounded(math.comb(n, k)) if k >= 0 else 0
    if not 0 <= k <= 40:
        raise TooLarge("a binomial coefficient")
    result: Value = 1
    for j in range(k):
        result = precise.divide(precise.multiply(result, precise.add(n, -j)), j + 1)
    return result


def _permutations(args: Args, at: Point) -> Value:
    n, k = _natural(args[0], at), _natural(args[1], at)
    if not 0 <= k <= n <= LARGEST_FACTORIAL:
        raise TooLarge("a number of permutations")
    return precise.bounded(math.perm(n, k))


def _log(args: Args, at: Point) -> Value:
    x = precise.simple(_value(args[0], at))
    if len(args) == 1 and not at.decadic:
        return precise.ln(x)
    base = _value(args[1], at) if len(args) > 1 else 10
    if isinstance(base, int) and isinstance(x, int) and base > 1 and x > 0:
        k = round(math.log(x) / math.log(base)) if x.bit_length() < 900 else 0
        if k and base**k == x:
            return k
    return precise.divide(precise.ln(x), precise.ln(base))


def _sine(args: Args, at: Point) -> Value:
    return precise.sin(_value(args[0], at))


def _cosine(args: Args, at: Point) -> Value:
    return precise.cos(_value(args[0], at))


def _of(fn: Callable[[Value], Value]) -> Callable[[Args, Point], Value]:
    return lambda args, at: fn(_value(args[0], at))


def _absolute(args: Args, at: Point) -> Value:
    v = _value(args[0], at)
    return precise.size(v) if isinstance(v, Complex) else abs(v)


def _extreme(pick: int) -> Callable[[Args, Point], Value]:
    def rule(args: Args, at: Point) -> Value:
        best = _value(args[0], at)
        for arg in args[1:]:
            v = _value(arg, at)
            if (precise.to_decimal(v) - precise.to_decimal(best)) * pick > 0:
                best = v
        return best

    return rule


def _degrees(args: Args, at: Point) -> Value:
    v = _value(args[0], at)
    return precise.divide(precise.multiply(v, precise.pi()), 180) if at.degrees else v


def _series(start: int, join: Callable[[Value, Value], Value]) -> Callable[[Args, Point], Value]:
    def rule(args: Args, at: Point) -> Value:
        variable, low, high, body = args
        assert isinstance(variable, Sym)
        first, last = _natural(low, at), _natural(high, at)
        if last - first > MOST_TERMS:
            raise TooLarge(f"a sum of more than {MOST_TERMS} terms")
        kept, total = at.bound.get(variable.name), start
        result: Value = total
        for k in range(first, last + 1):
            at.bound[variable.name] = k
            result = join(result, _value(body, at))
        if kept is None:
            at.bound.pop(variable.name, None)
        else:
            at.bound[variable.name] = kept
        return result

    return rule


def _applied(args: Args, at: Point) -> Value:
    """An unknown function: a number that depends on its name and on the values it is applied to."""
    head = args[0]
    assert isinstance(head, Sym)
    key: list[object] = [head.name, at.number if at.number < 10 else 10]
    for arg in args[1:]:
        if isinstance(arg, Group):
            key.extend(_rounded(_value(item, at)) for item in arg.items)
        elif isinstance(arg, (Num, Sym, Op)):
            key.append(_rounded(_value(arg, at)))
        else:
            key.append(repr(arg))
    return Decimal(10**30 + noise(*key) % 10**30).scaleb(-30)


def _rounded(v: Value) -> str:
    if isinstance(v, Complex):
        return f"{v.re:.20e} {v.im:.20e}"
    return f"{precise.to_decimal(v):.20e}"


def _modulo(args: Args, at: Point) -> Value:
    return _natural(args[0], at) % _natural(args[1], at)


def _based(args: Args, at: Point) -> Value:
    return _value(args[0], at)


def _determinant(args: Args, at: Point) -> Value:
    matrix = args[0]
    if not isinstance(matrix, Matrix) or len(matrix.rows) != len(matrix.rows[0]) or len(matrix.rows) > 5:
        raise Unreadable("the determinant of what is no small square matrix")
    return _expand([[_value(cell, at) for cell in row] for row in matrix.rows])


def _expand(rows: list[list[Value]]) -> Value:
    if len(rows) == 1:
        return rows[0][0]
    total: Value = 0
    for k, cell in enumerate(rows[0]):
        minor = _expand([row[:k] + row[k + 1 :] for row in rows[1:]])
        term = precise.multiply(cell, minor)
        total = precise.add(total, precise.negate(term) if k % 2 else term)
    return total


RULES: dict[str, Callable[[Args, Point], Value]] = {
    "+": _sum,
    "neg": lambda args, at: precise.negate(_value(args[0], at)),
    "*": _product,
    "/": _quotient,
    "^": _power,
    "root": _root,
    "!": _factorial,
    "!!": _double_factorial,
    "binom": _binomial,
    "perm": _permutations,
    "log": _log,
    "ln": lambda args, at: precise.ln(_value(args[0], at)),
    "sin": _sine,
    "cos": _cosine,
    "tan": _of(elementary.tan),
    "cot": _of(elementary.cot),
    "sec": _of(elementary.sec),
    "csc": _of(elementary.csc),
    "sinh": _of(elementary.sinh),
    "cosh": _of(elementary.cosh),
    "tanh": _of(elementary.tanh),
    "coth": _of(elementary.coth),
    "asin": _of(precise.asin),
    "acos": _of(elementary.acos),
    "atan": _of(precise.atan),
    "acot": _of(elementary.acot),
    "asec": _of(elementary.asec),
    "acsc": _of(elementary.acsc),
    "asinh": _of(elementary.asinh),
    "acosh": _of(elementary.acosh),
    "atanh": _of(elementary.atanh),
    "abs": _absolute,
    "floor": _of(precise.floor),
    "ceil": lambda args, at: -precise.floor(precise.negate(_value(args[0], at))),
    "max": _extreme(1),
    "min": _extreme(-1),
    "gcd": lambda args, at: math.gcd(*(_natural(a, at) for a in args)),
    "deg": _degrees,
    "sum": _series(0, precise.add),
    "prod": _series(1, precise.multiply),
    "apply": _applied,
    "mod": _modulo,
    "base": _based,
    "det": _determinant,
}
