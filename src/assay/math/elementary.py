"""Elementary functions that are made of others: tangents, secants, hyperbolic ones, and their inverses."""

from __future__ import annotations

from collections.abc import Callable

from assay.math import precise
from assay.math.precise import Value


def _quotient(top: Callable[[Value], Value], bottom: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda z: precise.divide(top(z), bottom(z))


tan, cot = _quotient(precise.sin, precise.cos), _quotient(precise.cos, precise.sin)


def sec(z: Value) -> Value:
    return precise.divide(1, precise.cos(z))


def csc(z: Value) -> Value:
    return precise.divide(1, precise.sin(z))


def _hyperbolic(sign: int) -> Callable[[Value], Value]:
    def value(z: Value) -> Value:
        up, down = precise.exp(z), precise.exp(precise.negate(z))
        return precise.divide(precise.add(up, down if sign > 0 else precise.negate(down)), 2)

    return value


sinh, cosh = _hyperbolic(-1), _hyperbolic(1)
tanh, coth = _quotient(sinh, cosh), _quotient(cosh, sinh)


def _inverse_hyperbolic(sign: int) -> Callable[[Value], Value]:
    def value(z: Value) -> Value:
        return precise.ln(precise.add(z, precise.root(precise.add(precise.multiply(z, z), sign), 2)))

    return value


asinh, acosh = _inverse_hyperbolic(1), _inverse_hyperbolic(-1)


def atanh(z: Value) -> Value:
    return precise.divide(precise.ln(precise.divide(precise.add(1, z), precise.add(1, precise.negate(z)))), 2)


def acos(z: Value) -> Value:
    return precise.add(precise.divide(precise.pi(), 2), precise.negate(precise.asin(z)))


def acot(z: Value) -> Value:
    return precise.add(precise.divide(precise.pi(), 2), precise.negate(precise.atan(z)))


def asec(z: Value) -> Value:
    return acos(precise.divide(1, z))


def acsc(z: Value) -> Value:
    return precise.asin(precise.divide(1, z))
