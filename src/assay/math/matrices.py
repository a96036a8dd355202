"""Matrices as their rows, in whatever form they are written; sums, products and multiples worked out cell by cell."""

from __future__ import annotations

from assay.math.limits import MOST_ITEMS
from assay.math.tree import Group, Matrix, Node, Num, Op, walk


def is_vector(rows: list[list[Node]]) -> bool:
    """Whether these rows are one row, or one column."""
    return len(rows) == 1 or all(len(r) == 1 for r in rows)


def cells_of(rows: list[list[Node]]) -> list[Node]:
    """All cells, row by row."""
    return [cell for row in rows for cell in row]


def rows_of(node: Node) -> list[list[Node]] | None:
    """The rows of what is a matrix, comes to one, or is a list (of lists) that may stand for one."""
    if isinstance(node, Op) and node.op in ("+", "*", "neg", "^") and any(isinstance(n, Matrix) for n in walk(node)):
        worked = work_out(node)
        return None if worked is None else [list(r) for r in worked.rows]
    if isinstance(node, Matrix):
        return [list(r) for r in node.rows]
    if isinstance(node, Group) and node.items:
        if all(isinstance(n, Group) for n in node.items):
            return [list(n.items) for n in node.items if isinstance(n, Group)]
        return [list(node.items)]
    return None


def is_matrix_like(g: Node, a: Node) -> bool:
    """Whether one of the two is a list of lists in square brackets, and the other no less than a list."""
    return any(
        isinstance(n, Group) and n.items and n.open == "[" and all(isinstance(m, Group) for m in n.items)
        for n in (g, a)
    ) and all(isinstance(n, (Group, Matrix)) for n in (g, a))


def work_out(node: Node) -> Matrix | None:
    """The matrix that an expression of matrices stands for; None where it is none."""
    if isinstance(node, Matrix):
        return node if len(node.rows) * len(node.rows[0]) <= MOST_ITEMS else None
    if not isinstance(node, Op):
        return None
    if node.op == "neg":
        inner = work_out(node.args[0])
        return None if inner is None else _scaled(Num(-1), inner)
    if node.op == "+":
        total = work_out(node.args[0])
        for arg in node.args[1:]:
            term = work_out(arg)
            total = None if total is None or term is None else _added(total, term)
        return total
    if node.op == "*":
        left, right = (work_out(n) for n in node.args)
        if left is not None and right is not None:
            return _multiplied(left, right)
        if left is None and right is not None:
            return _scaled(node.args[0], right)
        return None if left is None else _scaled(node.args[1], left)
    return None


def _scaled(factor: Node, m: Matrix) -> Matrix:
    return Matrix(tuple(tuple(Op("*", (factor, cell)) for cell in row) for row in m.rows))


def _added(a: Matrix, b: Matrix) -> Matrix | None:
    if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
        return None
    return Matrix(
        tuple(tuple(Op("+", pair) for pair in zip(x, y, strict=True)) for x, y in zip(a.rows, b.rows, strict=True))
    )


def _multiplied(a: Matrix, b: Matrix) -> Matrix | None:
    if len(a.rows[0]) != len(b.rows) or len(a.rows) * len(b.rows) * len(b.rows[0]) > MOST_ITEMS:
        return None
    columns = list(zip(*b.rows, strict=True))
    return Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in a.rows))


def _dot(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    products = tuple(Op("*", pair) for pair in zip(row, column, strict=True))
    return products[0] if len(products) == 1 else Op("+", products)
