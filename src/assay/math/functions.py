"""Functions and commands: fractions, roots, logarithms, sums, matrices."""

from __future__ import annotations

from collections.abc import Callable

from assay.math.brackets import argument, braces, bracket
from assay.math.cursor import Cursor
from assay.math.limits import Unreadable
from assay.math.names import FUNCTIONS, INVERSE
from assay.math.numbers import mixed
from assay.math.tree import Group, Matrix, Node, Num, Op, Relation, Sym, walk


def function(c: Cursor, fn: str) -> Node:
    """A function with its power, its base and its argument."""
    base: Node | None = None
    exponent: Node | None = None
    for _ in range(2):
        if c.peek() == "_":
            c.i += 1
            base = argument(c, whole=True)
        elif c.peek() == "^":
            c.i += 1
            if c.peek() == "{" and c.peek(1) == "°":
                raise Unreadable("degrees of a function")
            exponent = argument(c, whole=True)
    if fn in ("sqrt", "cbrt") and c.peek() == "[":
        return _root(c)
    inside = function_argument(c, fn)
    args = (
        inside.items if isinstance(inside, Group) and fn in ("max", "min", "gcd", "lcm", "binom", "log") else (inside,)
    )
    if exponent is not None and fn in INVERSE and _is_minus_one(exponent):
        return Op(INVERSE[fn], args)
    node = _built(fn, args, base)
    return node if exponent is None else Op("^", (node, exponent))


def _built(fn: str, args: tuple[Node, ...], base: Node | None) -> Node:
    value = next(iter(args), None)
    if value is None or (len(args) != 2 and fn == "binom") or (len(args) > 2 and fn == "log"):
        raise Unreadable(f"{fn} of {len(args)} values")
    if len(args) == 1 and fn in ("max", "min", "gcd", "lcm") and isinstance(value, Num):
        return Op("apply", (Sym(fn), value))  # `max 5` is a word and a number
    if fn == "sqrt":
        return Op("root", (value, Num(2)))
    if fn == "cbrt":
        return Op("root", (value, Num(3)))
    if fn == "cis":
        return Op("^", (Sym("e"), Op("*", (Sym("i"), value))))
    if fn == "exp":
        return Op("^", (Sym("e"), value))
    if fn == "lg":
        return Op("log", (value, base or Num(10)))
    if fn == "log2":
        return Op("log", (value, Num(2)))
    if fn == "log":
        return Op("log", (value, base)) if base is not None else Op("log", args)
    return Op(fn, args)


def _is_minus_one(node: Node) -> bool:
    return isinstance(node, Op) and node.op == "neg" and isinstance(node.args[0], Num) and node.args[0].value == 1


def function_argument(c: Cursor, fn: str) -> Node:
    """What a function is applied to: brackets, or the factors that follow it up to the next function."""
    if c.peek() in ("(", "[", "{", "|", "\\{", "\\lfloor", "\\lceil"):
        opened = c.peek()
        c.enter()
        inside = {"{": braces, "[": bracket, "(": bracket}.get(opened, c.grammar.atom)(c)
        c.leave()
        return inside
    c.enter()
    if c.peek() == "-":
        c.i += 1
        negative = Op("neg", (function_argument(c, fn),))
        c.leave()
        return negative
    node = c.grammar.power(c)
    while c.peek() and fn != "root" and c.grammar.starts_factor(c, node) and _same_argument(c):
        node = mixed(c, node) or Op("*", (node, c.grammar.power(c)))
    if c.peek() == "/" and isinstance(node, (Num, Sym)) and c.peek(1)[:1].isdecimal() and fn in INVERSE:
        c.i += 1
        node = Op("/", (node, c.grammar.power(c)))  # `\cos \pi/3`
    c.leave()
    return node


def _same_argument(c: Cursor) -> bool:
    token = c.peek().lstrip("\\")
    return (
        token not in FUNCTIONS
        and token not in ("(", "[", "{", "left", "int", "sum", "prod", "lim")
        and not (token in ("e", "exp") and c.peek(1) == "^")  # after a sine: e^x is a factor of its own
    )


def _fraction(c: Cursor) -> Node:
    if c.peek() == "{" and c.peek(1) == "d" and c.peek(2) == "}" and c.peek(3) == "{" and c.peek(4)[:1] == "d":
        return _derivative(c)
    c.enter()
    top = argument(c)
    bottom = argument(c, whole=c.t[c.i - 1] == "}")
    c.leave()
    return Op("/", (top, bottom))


def _derivative(c: Cursor) -> Node:
    """`\\frac{d}{dx} f`, which is not worked out: a name for a value."""
    c.i += 3
    by = argument(c, whole=True)
    return Op("apply", (Sym("derivative"), by, c.grammar.product(c)))


def _root(c: Cursor) -> Node:
    degree: Node = Num(2)
    if c.accept("["):
        degree = c.grammar.sequence(c)
        c.expect("]")
    c.enter()
    inside = argument(c, whole=True)
    c.leave()
    return Op("root", (inside, degree))


def _binomial(c: Cursor) -> Node:
    return Op("binom", (argument(c), argument(c, whole=True)))


def _decorated(mark: str) -> Callable[[Cursor], Node]:
    def read(c: Cursor) -> Node:
        inside = argument(c, whole=True)
        if isinstance(inside, Sym):
            if inside.name in "ijk" and mark in ("hat", "vec"):
                return inside
            return Sym(f"{mark}({inside.name})")
        ends = [n.name for n in walk(inside) if isinstance(n, Sym)][::-1]
        if isinstance(inside, Op) and inside.op == "*" and all(e.isupper() for e in ends):
            return inside if mark == "overline" else Sym(f"{mark}({''.join(ends)})")  # a segment has no direction
        return Op("apply", (Sym(mark), inside))

    return read


def _skip(c: Cursor) -> Node:
    return c.grammar.power(c)


def _bounds(c: Cursor) -> tuple[Node | None, Node | None]:
    low: Node | None = None
    high: Node | None = None
    for _ in range(2):
        if c.peek() == "_":
            c.i += 1
            low = argument(c, whole=True)
        elif c.peek() == "^":
            c.i += 1
            high = argument(c, whole=True)
    return low, high


def _series(op: str) -> Callable[[Cursor], Node]:
    def read(c: Cursor) -> Node:
        low, high = _bounds(c)
        body = c.grammar.product(c)
        if isinstance(low, Relation) and low.signs == ("=",) and isinstance(low.sides[0], Sym) and high is not None:
            return Op(op, (low.sides[0], low.sides[1], high, body))
        return Op("apply", (Sym(op), *(n for n in (low, high) if n is not None), body))

    return read


def _integral(c: Cursor) -> Node:
    low, high = _bounds(c)
    return Op("apply", (Sym("integral"), *(n for n in (low, high) if n is not None), c.grammar.total(c)))


def _limit(c: Cursor) -> Node:
    low, _ = _bounds(c)
    return Op("apply", (Sym("lim"), *((low,) if low is not None else ()), c.grammar.power(c)))


def _constant(node: Node) -> Callable[[Cursor], Node]:
    return lambda c: node


def environment(c: Cursor) -> Node:
    """`\\begin{pmatrix} ... \\end{pmatrix}` and its kin."""
    kind = c.take()[7:].rstrip("}*")
    if kind not in (
        "pmatrix",
        "bmatrix",
        "vmatrix",
        "matrix",
        "array",
        "smallmatrix",
        "Bmatrix",
        "Vmatrix",
        "cases",
        "aligned",
        "align",
    ):
        raise Unreadable(f"{kind} is not understood")
    rows: list[tuple[Node, ...]] = []
    row: list[Node] = []
    c.enter()
    while not c.peek().startswith("\\end"):
        token = c.peek()
        if token == "&":
            c.i += 1
        elif token == "\\\\" or (token == "," and kind == "cases"):
            c.i += 1
            if row:
                rows.append(tuple(row))
            row = []
        elif not token:
            raise Unreadable("a matrix is not closed")
        else:
            row.append(c.grammar.relation(c))
    c.leave()
    c.i += 1
    if row:
        rows.append(tuple(row))
    if kind in ("cases", "aligned", "align"):
        return Group("list", tuple(n for r in rows for n in r), "and")
    if not rows or len({len(r) for r in rows}) != 1:
        raise Unreadable("the rows of a matrix differ in length")
    if kind in ("array", "matrix") and len(rows) == len(rows[0]) == 1:
        return rows[0][0]
    matrix = Matrix(tuple(rows))
    return Op("det", (matrix,)) if kind == "vmatrix" else matrix


COMMANDS: dict[str, Callable[[Cursor], Node]] = {
    "\\frac": _fraction,
    "\\sqrt": _root,
    "\\surd": _root,
    "\\binom": _binomial,
    "\\emptyset": _constant(Group("set", ())),
    "\\angle": _skip,
    "\\triangle": _skip,
    "\\measuredangle": _skip,
    "\\sum": _series("sum"),
    "\\prod": _series("prod"),
    "\\int": _integral,
    "\\lim": _limit,
    "\\partial": _constant(Sym("partial")),
    "\\nabla": _constant(Sym("nabla")),
    "\\ldots": _constant(Sym("...")),
    **{f"\\{mark}": _decorated(mark) for mark in ("vec", "hat", "bar", "overline", "tilde", "dot", "ddot", "widehat")},
    **{f"\\{mark}": _decorated("vec") for mark in ("overrightarrow", "overleftarrow", "widetilde")},
}
