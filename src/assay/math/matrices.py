"""Sums, products and multiples of matrices, worked out cell by cell."""

from __future__ import annotations

from assay.math.limits import MOST_ITEMS
from assay.math.tree import Matrix, Node, Num, Op


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
