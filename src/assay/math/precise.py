"""Elementary functions of real and complex numbers to any precision, on the decimals of the standard library.

A value is an exact `int` or `Fraction` as long as that is possible, then a `Decimal`, then a `Complex`. Decimals here
have an exponent of up to twelve digits, so nothing overflows to infinity or vanishes to zero; what would is `TooLarge`.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

from assay.math.limits import MOST_BITS, TooLarge, Unreadable

_EMAX = 10**12


@dataclass(slots=True)
class Complex:
    """A complex number of two decimals."""

    re: Decimal
    im: Decimal


Exact: TypeAlias = int | Fraction
Value: TypeAlias = int | Fraction | Decimal | Complex


@lru_cache(maxsize=32)
def context(digits: int) -> decimal.Context:
    """A context of that many digits, in which nothing silently becomes infinite."""
    return decimal.Context(
        prec=digits, Emax=_EMAX, Emin=-_EMAX, rounding=decimal.ROUND_HALF_EVEN,
        traps=[decimal.Overflow, decimal.InvalidOperation, decimal.DivisionByZero, decimal.Underflow],
    )  # fmt: skip


def precision() -> int:
    """The digits that are worked with here."""
    return decimal.getcontext().prec


def to_decimal(v: Value) -> Decimal:
    """A real value as a decimal of the working precision."""
    if isinstance(v, int):
        return +Decimal(v)
    if isinstance(v, Fraction):
        return Decimal(v.numerator) / Decimal(v.denominator)
    if isinstance(v, Decimal):
        return v
    raise Unreadable("a real number is needed")


def to_complex(v: Value) -> Complex:
    """Any value as a complex one."""
    return v if isinstance(v, Complex) else Complex(to_decimal(v), Decimal(0))


def simple(v: Value) -> Value:
    """A fraction with denominator 1 as an integer, a complex number without an imaginary part as a real one."""
    if isinstance(v, Fraction) and v.denominator == 1:
        return v.numerator
    if isinstance(v, Complex) and not v.im:
        return v.re
    return v


def size(v: Value) -> Decimal:
    """The absolute value."""
    if isinstance(v, Complex):
        return (v.re * v.re + v.im * v.im).sqrt() if v.im else abs(v.re)
    return abs(to_decimal(v))


# -- arithmetic ------------------------------------------------------------------------------------------------------


def add(a: Value, b: Value) -> Value:
    """a + b"""
    if isinstance(a, (int, Fraction)) and isinstance(b, (int, Fraction)):
        return bounded(a + b)
    if isinstance(a, Complex) or isinstance(b, Complex):
        x, y = to_complex(a), to_complex(b)
        return Complex(x.re + y.re, x.im + y.im)
    return to_decimal(a) + to_decimal(b)


def negate(a: Value) -> Value:
    """-a"""
    return Complex(-a.re, -a.im) if isinstance(a, Complex) else -a


def multiply(a: Value, b: Value) -> Value:
    """a b"""
    if isinstance(a, (int, Fraction)) and isinstance(b, (int, Fraction)):
        return bounded(a * b)
    if isinstance(a, Complex) or isinstance(b, Complex):
        x, y = to_complex(a), to_complex(b)
        return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
    return to_decimal(a) * to_decimal(b)


def divide(a: Value, b: Value) -> Value:
    """a / b"""
    if isinstance(b, (int, Fraction)):
        if not b:
            raise Unreadable("division by zero")
        if isinstance(a, (int, Fraction)):
            return bounded(simple(Fraction(a) / b))
    if isinstance(b, Complex):
        x, norm = to_complex(a), b.re * b.re + b.im * b.im
        return Complex((x.re * b.re + x.im * b.im) / norm, (x.im * b.re - x.re * b.im) / norm)
    d = to_decimal(b)
    return Complex(a.re / d, a.im / d) if isinstance(a, Complex) else to_decimal(a) / d


def bounded(v: Value) -> Value:
    """An exact number that is not too long; a longer one becomes a decimal."""
    if isinstance(v, int):
        return v if v.bit_length() <= MOST_BITS else +Decimal(v)
    if isinstance(v, Fraction) and max(v.numerator.bit_length(), v.denominator.bit_length()) > MOST_BITS:
        return to_decimal(v)
    return v


def power(a: Value, b: Value) -> Value:
    """a to the b: exact where that is possible, the real root of a negative number where the root is odd."""
    b = simple(b)
    if isinstance(b, int):
        return _integer_power(a, b)
    if isinstance(b, Fraction) and b.denominator < 1000:
        return _integer_power(root(a, b.denominator), b.numerator)
    if isinstance(a, (int, Fraction)) and not a:
        if isinstance(b, Complex) or to_decimal(b) <= 0:
            raise Unreadable("zero to a power that is not positive")
        return 0
    return exp(multiply(ln(a), b))


def _integer_power(a: Value, n: int) -> Value:
    if n < 0:
        return divide(1, _integer_power(a, -n))
    if isinstance(a, (int, Fraction)):
        if abs(a) == 1 or not a:
            return a**n if n < 2 else (a if n % 2 else a * a)
        bits = max(a.numerator.bit_length(), a.denominator.bit_length())
        if bits * n <= MOST_BITS:
            return simple(a**n)
        a = to_decimal(a)
    if n.bit_length() > 36:
        raise TooLarge("an exponent of more than eleven digits")
    if isinstance(a, Decimal):
        return a**n
    result: Value = 1
    while n:
        if n & 1:
            result = multiply(result, a)
        a, n = multiply(a, a), n >> 1
    return result


def exact_root(n: int, k: int) -> int | None:
    """The k-th root of a natural number where it is a natural number."""
    if k == 2:
        r = isqrt(n)
        return r if r * r == n else None
    if n < 2:
        return n
    if n.bit_length() < k:
        return None
    r = round(2 ** ((n.bit_length() - 1) / k)) if n.bit_length() < 900 else 1 << (n.bit_length() // k)
    for _ in range(200):
        better = ((k - 1) * r + n // r ** (k - 1)) // k
        if abs(better - r) <= 1:
            break
        r = better
    return next((c for c in range(max(r - 2, 1), r + 4) if c**k == n), None)


def root(a: Value, k: int) -> Value:
    """The k-th root: exact where it is rational, real for odd roots, principal otherwise."""
    if k <= 0 or k > 1000:
        raise Unreadable("a root that is not taken")
    if isinstance(a, (int, Fraction)):
        if a < 0 and k % 2:
            return negate(root(-a, k))
        if a >= 0:
            top, bottom = exact_root(a.numerator, k), exact_root(a.denominator, k)
            if top is not None and bottom is not None:
                return simple(Fraction(top, bottom))
    if isinstance(a, Complex):
        return exp(divide(ln(a), k))
    d = to_decimal(a)
    if d < 0:
        if k % 2:
            return negate(root(-d, k))
        if k == 2:
            return Complex(Decimal(0), (-d).sqrt())
        return exp(divide(ln(d), k))
    if not d:
        return 0
    return d.sqrt() if k == 2 else (d.ln() / k).exp()


# -- exponential, logarithm, circle ----------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _pi(digits: int) -> Decimal:
    with decimal.localcontext(context(digits + 10)):
        # Machin: pi = 16 atan(1/5) - 4 atan(1/239), in integers
        one = 10 ** (digits + 15)

        def inverse_tangent(n: int) -> int:
            term = total = one // n
            k, square, sign = 1, n * n, 1
            while term:
                term //= square
                k, sign = k + 2, -sign
                total += sign * (term // k)
            return total

        return Decimal(4 * (4 * inverse_tangent(5) - inverse_tangent(239))).scaleb(-(digits + 15))


def pi() -> Decimal:
    """pi to the working precision."""
    return +_pi(precision())


@lru_cache(maxsize=32)
def _e(digits: int) -> Decimal:
    with decimal.localcontext(context(digits)):
        return Decimal(1).exp()


def e() -> Decimal:
    """e to the working precision."""
    return _e(precision())


def exp(z: Value) -> Value:
    """e to the z."""
    if isinstance(z, Complex):
        length = z.re.exp()
        return Complex(length * cos_real(z.im), length * sin_real(z.im))
    if not isinstance(z, Decimal) and not z:
        return 1
    d = to_decimal(z)
    if abs(d) > 10**12:
        raise TooLarge("an exponent of more than twelve digits")
    return d.exp()


def ln(z: Value) -> Value:
    """The principal natural logarithm."""
    if isinstance(z, Complex):
        return Complex(size(z).ln(), argument(z))
    if not isinstance(z, Decimal) and z == 1:
        return 0
    d = to_decimal(z)
    if not d:
        raise Unreadable("the logarithm of zero")
    return d.ln() if d > 0 else Complex((-d).ln(), pi())


def argument(z: Complex) -> Decimal:
    """The angle of a complex number."""
    if not z.re:
        return pi() / 2 if z.im > 0 else -pi() / 2
    angle = atan_real(z.im / z.re)
    return angle if z.re > 0 else angle + pi() if z.im >= 0 else angle - pi()


def _reduced(x: Decimal) -> tuple[Decimal, int]:
    """x as r + q pi/2 with a small r."""
    if x.adjusted() > 60:
        raise TooLarge("an angle of more than sixty digits")
    if abs(x) < 1:
        return x, 0
    half = _pi(precision() + max(x.adjusted(), 0) + 5) / 2
    with decimal.localcontext(context(precision() + max(x.adjusted(), 0) + 5)):
        q = int((x / half).to_integral_value())
        r = x - q * half
    return +r, q


def _sine_series(x: Decimal) -> Decimal:
    scaled = x / 729 if abs(x) > Decimal("0.01") else x
    square, term, total, n = scaled * scaled, scaled, scaled, 1
    smallest = Decimal(10) ** (total.adjusted() - precision() - 2) if total else Decimal(0)
    while abs(term) > smallest:
        term = -term * square / ((n + 1) * (n + 2))
        total += term
        n += 2
    if scaled is not x:
        for _ in range(6):  # sin 3a = 3 sin a - 4 sin^3 a
            total = total * (3 - 4 * total * total)
    return total


def _sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    with decimal.localcontext(context(precision() + 12)):
        r, q = _reduced(x)
        sine = _sine_series(r)
        cosine = (1 - sine * sine).sqrt()  # |r| is at most pi/4 or 1, where the cosine is positive
        s, c = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[q % 4]
    return s, c


def sin_real(x: Decimal) -> Decimal:
    """The sine of a real number."""
    return +_sin_cos(x)[0]


def cos_real(x: Decimal) -> Decimal:
    """The cosine of a real number."""
    return +_sin_cos(x)[1]


def sin(z: Value) -> Value:
    """The sine."""
    if not isinstance(z, Complex):
        return 0 if not isinstance(z, Decimal) and not z else sin_real(to_decimal(z))
    up, down = exp(Complex(-z.im, z.re)), exp(Complex(z.im, -z.re))
    return divide(add(up, negate(down)), Complex(Decimal(0), Decimal(2)))


def cos(z: Value) -> Value:
    """The cosine."""
    if not isinstance(z, Complex):
        return 1 if not isinstance(z, Decimal) and not z else cos_real(to_decimal(z))
    return divide(add(exp(Complex(-z.im, z.re)), exp(Complex(z.im, -z.re))), 2)


def atan_real(x: Decimal) -> Decimal:
    """The inverse tangent of a real number."""
    if not x:
        return x
    if abs(x) > 1:
        return (pi() / 2).copy_sign(x) - atan_real(1 / x)
    with decimal.localcontext(context(precision() + 10)):
        for _ in range(4):  # halve the angle four times
            x = x / (1 + (1 + x * x).sqrt())
        square, term, total, n = x * x, x, x, 1
        smallest = Decimal(10) ** (total.adjusted() - precision() - 2)
        while abs(term) > smallest:
            term = -term * square
            n += 2
            total += term / n
        total *= 16
    return +total


def atan(z: Value) -> Value:
    """The inverse tangent of a real number."""
    return atan_real(to_decimal(z))


def asin(z: Value) -> Value:
    """The principal inverse sine."""
    if not isinstance(z, Complex):
        d = to_decimal(z)
        if abs(d) == 1:
            return d * pi() / 2
        if abs(d) < 1:
            return atan_real(d / (1 - d * d).sqrt())
    i = Complex(Decimal(0), Decimal(1))
    inside = add(multiply(i, z), root(add(1, negate(multiply(z, z))), 2))
    return negate(multiply(i, ln(inside)))


def floor(v: Value) -> int:
    """The largest integer below; a number that cannot be told from an integer is undecided."""
    if isinstance(v, (int, Fraction)):
        return v.__floor__()
    d = to_decimal(v)
    if d.adjusted() > precision() - 15:
        raise TooLarge("the floor of a number that is not known well enough")
    nearest = d.to_integral_value()
    if abs(d - nearest) < Decimal(10) ** (15 + max(d.adjusted(), 0) - precision()):
        return int(nearest)
    return int(d.to_integral_value(decimal.ROUND_FLOOR))
