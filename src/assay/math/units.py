"""Units: which words are one, what they measure, and how many of the base unit they are."""

from __future__ import annotations

from fractions import Fraction

from assay.math.cursor import Cursor
from assay.math.tree import Node, Num, Op, Quantity, Sym, walk

_TABLE = """
length      m meter metre meters metres =1
length      km kilometer kilometre kilometers kilometres =1000
length      cm centimeter centimetre centimeters centimetres =1/100
length      mm millimeter millimetre millimeters millimetres =1/1000
length      μm um micrometer micrometers micron microns =1/1000000
length      \\AA Å angstrom angstroms =1/10000000000
length      \\AA Å angstrom angstroms =1/10000000000
length      nm nanometer nanometers nanometre nanometres =1/1000000000
length      in inch inches =127/5000
length      ft foot feet =381/1250
length      yd yard yards yds =1143/1250
length      mi mile miles =201168/125
mass        kg kilogram kilograms =1
mass        g gram grams gm gms =1/1000
mass        mg milligram milligrams =1/1000000
mass        lb lbs pound pounds =45359237/100000000
mass        oz ounce ounces =45359237/1600000000
mass        ton tons tonne tonnes =1000
time        s sec secs second seconds =1
time        ms millisecond milliseconds =1/1000
time        μs us microsecond microseconds =1/1000000
time        ns nanosecond nanoseconds =1/1000000000
time        min mins minute minutes =60
time        h hr hrs hour hours =3600
time        day days d =86400
time        week weeks wk =604800
time        year years yr yrs =31557600
time        month months =2629800
speed       mph =1397/3125
speed       kph kmh kmph =5/18
speed       rpm =1
volume      L l liter litre liters litres =1/1000
volume      mL ml milliliter milliliters millilitre millilitres =1/1000000
volume      gal gallon gallons =473176473/125000000000
energy      J joule joules =1
energy      kJ kilojoule kilojoules =1000
energy      MJ =1000000
energy      cal calorie calories =523/125
energy      kcal =4184
energy      eV =1602176634/10000000000000000000000000000
energy      MeV =1602176634/10000000000000000000000
energy      GeV =1602176634/10000000000000000000
energy      Wh =3600
energy      kWh =3600000
energy      Btu BTU btu =1055
energy      erg ergs =1/10000000
power       W watt watts =1
power       kW kilowatt kilowatts =1000
power       MW megawatt megawatts =1000000
power       hp horsepower HP =746
force       N newton newtons =1
force       kN =1000
force       dyne dynes =1/100000
pressure    Pa pascal pascals =1
pressure    kPa =1000
pressure    MPa =1000000
pressure    atm atmospheres =101325
pressure    bar =100000
pressure    psi =6895
pressure    torr Torr mmHg =133
voltage     V volt volts =1
voltage     kV =1000
voltage     mV =1/1000
current     A amp amps ampere amperes =1
current     mA =1/1000
resistance  Ω ohm ohms Ohm =1
resistance  kΩ kohm =1000
charge      C coulomb coulombs =1
capacity    F farad farads =1
capacity    μF =1/1000000
frequency   Hz hertz =1
frequency   kHz =1000
frequency   MHz =1000000
frequency   GHz =1000000000
amount      mol mole moles mols =1
amount      mmol =1/1000
heat        K kelvin kelvins Kelvin =1
angle       rad radian radians rads =1
data        bit bits =1
data        byte bytes B =8
data        KB kB =8000
data        MB =8000000
data        GB =8000000000
field       T tesla =1
molar       M =1
light       lm cd lux
"""

UNITS: dict[str, tuple[str, Fraction]] = {}
for _line in _TABLE.strip().splitlines():
    _names, _, _factor = _line.partition("=")
    _kind, *_spellings = _names.split()
    for _name in _spellings:
        UNITS[_name] = (_kind, Fraction(_factor or "1"))

_FILLERS = frozenset(
    [
        "of",
        "the",
        "a",
        "an",
        "in",
        "per",
        "is",
        "are",
        "each",
        "was",
        "for",
        "square",
        "cubic",
        "sq",
        "cu",
        "that",
        "with",
        "by",
        "and",
        "to",
        "at",
        "on",
    ]
)
_PLURAL_ONLY = frozenset(["units", "unit", "people", "person", "ways", "way", "dollars", "dollar", "cents", "cent"])
_HALVES = frozenset(["am", "pm", "AM", "PM", "sq", "cu"])
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}


def is_unit_word(word: str) -> bool:
    """Whether a word of two letters or more is the name of a unit."""
    if not word.isascii():
        return True
    return len(word) > 1 and (word in UNITS or word.lower() in UNITS or word in _PLURAL_ONLY or word in _HALVES)


def unit_follows(c: Cursor, left: Node) -> bool:
    """Whether what stands behind a value is its unit: words up to the end of the item, and no expression."""
    token = c.peek()
    if not token.isascii():
        return True
    if not (token[:1].isalpha() or token in ("\\mu", "\\Omega", "\\AA")) or not _plain_value(left):
        return False
    if len(token) > 1 and (is_unit_word(token) or len(token) > 3):
        return True
    if len(token) == 3 and token.islower() and c.i in c.spaced and c.i == c.n - 1:
        return True  # `1/2 cup`
    if token in _GLUED and isinstance(left, Num) and _unit_to_the_end(c):
        return True
    if c.i not in c.upright and (c.i not in c.spaced or token not in UNITS or c.peek(1) in ("_", "(", "+", "-", "*")):
        return False
    if token in ("e", "i", "pi"):
        return False
    return c.i in c.upright or _unit_to_the_end(c)


_GLUED = ("g", "L", "J", "V", "W")
"""Letters that are a unit even where they stand close to a number, as in `264g`."""


def _plain_value(node: Node) -> bool:
    return all(isinstance(n, Num | Op | Quantity) or (isinstance(n, Sym) and n.name in ("pi", "e")) for n in walk(node))


def _unit_to_the_end(c: Cursor) -> bool:
    k = c.i
    while k < c.n and (
        c.t[k] in UNITS
        or (c.t[k].isalpha() and (len(c.t[k]) > 1 or (k > c.i and c.t[k].isupper())))
        or c.t[k] in ("/", "^", "{", "}", "-", "*", "2", "3", "1", "4")
    ):
        k += 1
    return k == c.n or c.t[k] in (",", ";", "and", "or", ")", "]", "\\}", "}")


_STOPS = frozenset(
    {",", ";", "and", "or", "", "=", ")", "]", "\\}", "\\\\", "\\approx", "}", "<", ">", "<=", ">=", "+"}
)


def take_unit(c: Cursor) -> tuple[str, ...]:
    """The words of the unit here; steps over them. Empty where there is none, or where a new expression begins."""
    start, depth, words = c.i, 0, list[str]()
    while c.i < c.n:
        token = c.peek()
        if depth == 0 and token in _STOPS and not (token == "and" and _measured(c)):
            break
        if token == "{" or token == "(":
            depth += 1
        elif token == "}" or token == ")":
            depth -= 1
        elif _is_unit_token(token):
            if token != ".":
                words.append(token)
        else:
            c.i = start
            return ()
        c.i += 1
    if not any(w[:1].isalpha() or w in ("\\mu", "\\Omega", "\\AA", "Ω") for w in words):
        c.i = start
        return ()
    return tuple(words)


def _measured(c: Cursor) -> bool:
    """`3 hours and 20 minutes`."""
    before, after = c.t[c.i - 1], c.peek(2)
    return c.peek(1)[:1].isdecimal() and is_unit_word(after) and is_unit_word(before) and before != after


def _is_unit_token(token: str) -> bool:
    return token[:1].isalnum() or token in (
        "/",
        "^",
        "-",
        "*",
        ".",
        "_",
        "°",
        "%",
        "'",
        "\\mu",
        "\\Omega",
        "²",
        "³",
        "\\AA",
        "\\ohm",
        "and",
    )


def measure(words: tuple[str, ...]) -> tuple[str, Fraction] | None:
    """What a unit measures, in base units and their powers, and its size; None for a unit that is not known."""
    size, kinds = Fraction(1), dict[str, int]()
    sign, i, power = 1, 0, 1
    words = tuple(w for w in words if w not in ("*", ".", "of", "the"))
    while i < len(words):
        w = words[i]
        if w in ("/", "per"):
            sign, i = -1, i + 1
            continue
        if w in _POWER_WORDS:
            power, i = _POWER_WORDS[w], i + 1
            continue
        if w in ("\\mu", "μ") and i + 1 < len(words):
            w, i = "μ" + words[i + 1], i + 1
        known = UNITS.get(w) or UNITS.get(w.lower() if len(w) > 2 else w)
        if known is None:
            return None
        i, exponent = _exponent(words, i + 1)
        kind, factor = known
        kinds[kind] = kinds.get(kind, 0) + sign * exponent * power
        size *= factor ** (sign * exponent * power)
        sign, power = (sign if sign > 0 else 1), 1
    name = " ".join(f"{k}^{n}" for k, n in sorted(kinds.items()) if n)
    return (_DERIVED.get(name, name), size) if name else None


_DERIVED = {"length^3": "volume^1", "length^1 time^-1": "speed^1"}


def _exponent(words: tuple[str, ...], i: int) -> tuple[int, int]:
    if i < len(words) and words[i] in ("²", "squared"):
        return i + 1, 2
    if i < len(words) and words[i] in ("³", "cubed"):
        return i + 1, 3
    if i < len(words) and words[i] == "^":
        i += 1
        sign = 1
        if i < len(words) and words[i] == "-":
            sign, i = -1, i + 1
        if i < len(words) and words[i].isdecimal() and len(words[i]) == 1:
            return i + 1, sign * int(words[i])
    elif i < len(words) and words[i].isdecimal() and len(words[i]) == 1:
        return i + 1, int(words[i])
    return i, 1


_ = Num
