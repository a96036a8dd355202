"""Units: which words are one, what they measure in the seven base units of the SI, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_PREFIXES = {
    "T": ("tera", 12),
    "G": ("giga", 9),
    "M": ("mega", 6),
    "k": ("kilo", 3),
    "d": ("deci", -1),
    "c": ("centi", -2),
    "m": ("milli", -3),
    "μ": ("micro", -6),
    "n": ("nano", -9),
    "p": ("pico", -12),
    "f": ("femto", -15),
}

# spellings | prefixes that are usual with it | size and dimension
_TABLE = """
m meter meters metre metres | k d c m μ n p f | 1 m
g gram grams gm gms | k m μ n | 1/1000 kg
s sec secs second seconds | m μ n p f | 1 s
A amp amps ampere amperes | k m μ n | 1 A
K kelvin kelvins Kelvin | m μ | 1 K
mol mole moles mols | k m μ n | 1 mol
cd candela candelas | | 1 cd
L l liter liters litre litres | d c m μ n | 1/1000 m^3
M molar | m μ n | 1000 mol m^-3
N newton newtons | k M m μ n | 1 kg m s^-2
J joule joules | k M G m μ n | 1 kg m^2 s^-2
W watt watts | k M G m μ n | 1 kg m^2 s^-3
Pa pascal pascals | k M G m | 1 kg m^-1 s^-2
V volt volts | k M m μ n | 1 kg m^2 s^-3 A^-1
Ω ohm ohms Ohm Ohms | k M G m μ | 1 kg m^2 s^-3 A^-2
C coulomb coulombs | m μ n p f | 1 A s
F farad farads | m μ n p f | 1 A^2 s^4 kg^-1 m^-2
H henry henries henrys | m μ n | 1 kg m^2 s^-2 A^-2
T tesla teslas | m μ n k | 1 kg s^-2 A^-1
G gauss | k m | 1/10000 kg s^-2 A^-1
Wb weber webers | m μ | 1 kg m^2 s^-2 A^-1
S siemens mho | m μ | 1 A^2 s^3 kg^-1 m^-2
Hz hertz | k M G T | 1 s^-1
Bq becquerel becquerels | k M G | 1 s^-1
Ci curie curies | m μ n | 37000000000 s^-1
Gy gray grays | m μ k | 1 m^2 s^-2
Sv sievert sieverts | m μ | 1 m^2 s^-2
eV electronvolt electronvolts | k M G T m μ | 1602176634/10000000000000000000000000000 kg m^2 s^-2
cal calorie calories | k | 523/125 kg m^2 s^-2
Wh | k M G | 3600 kg m^2 s^-2
Btu BTU btu | | 52752792631/50000000 kg m^2 s^-2
erg ergs | | 1/10000000 kg m^2 s^-2
hp horsepower HP | | 37284993579113511/50000000000000 kg m^2 s^-3
dyn dyne dynes | | 1/100000 kg m s^-2
lbf | | 8896443230521/2000000000000 kg m s^-2
atm atmosphere atmospheres | | 101325 kg m^-1 s^-2
bar bars | k m | 100000 kg m^-1 s^-2
psi | | 8896443230521/1290320000 kg m^-1 s^-2
torr Torr mmHg | m | 20265/152 kg m^-1 s^-2
P poise | c m | 1/10 kg m^-1 s^-1
D debye | | 1/299792458000000000000000000000 A s m
amu Da dalton daltons | k M | 166053906660/100000000000000000000000000000000000000 kg
min mins minute minutes | | 60 s
h hr hrs hour hours | | 3600 s
d day days | | 86400 s
week weeks wk | | 604800 s
month months | | 2629800 s
y yr yrs year years | | 31557600 s
decade decades | | 315576000 s
century centuries | | 3155760000 s
um micron microns | | 1/1000000 m
us | | 1/1000000 s
Å \\AA angstrom angstroms Angstrom Angstroms | | 1/10000000000 m
in inch inches | | 127/5000 m
ft foot feet | | 381/1250 m
yd yard yards yds | | 1143/1250 m
mi mile miles | | 201168/125 m
acre acres | | 316160658/78125 m^2
ha hectare hectares | | 10000 m^2
lb lbs pound pounds | | 45359237/100000000 kg
oz ounce ounces | | 45359237/1600000000 kg
ton tons tonne tonnes | | 1000 kg
gal gallon gallons | | 473176473/125000000000 m^3
qt quart quarts | | 473176473/500000000000 m^3
pint pints pt | | 473176473/1000000000000 m^3
cc | | 1/1000000 m^3
mph | | 1397/3125 m s^-1
kph kmh kmph | | 5/18 m s^-1
knot knots | | 463/900 m s^-1
rpm | | 1 rpm
dB decibel decibels | | 1 dB
lm lumen lumens | | 1 lm
lux | | 1 lux
rad radian radians rads | m μ |1
sr steradian steradians | | 1
bit bits | | 1 bit
byte bytes B | k M G T | 8 bit
KB | | 8000 bit
°C °K | | 1 K
°F | | 5/9 K
dollar dollars USD $ buck bucks | | 1 $
cent cents ¢ | | 1/100 $
"""

_Dimension = tuple[tuple[str, int], ...]


def _read_dimension(factors: Sequence[str]) -> _Dimension:
    return tuple((name, int(power or "1")) for name, _, power in (f.partition("^") for f in factors))


def _units() -> dict[str, tuple[_Dimension, Fraction]]:
    """Every spelling with its dimension and its size, those with a prefix too."""
    known: dict[str, tuple[_Dimension, Fraction]] = {}
    prefixed: dict[str, tuple[_Dimension, Fraction]] = {}
    for line in _TABLE.strip().splitlines():
        names, prefixes, definition = (part.split() for part in line.split("|"))
        dimension, size = _read_dimension(definition[1:]), Fraction(definition[0])
        for name in names:
            known[name] = (dimension, size)
            for prefix in prefixes:
                word, power = _PREFIXES[prefix]
                of_letters = name == names[0] or len(name) <= 2
                prefixed[(prefix if of_letters else word) + name] = (dimension, size * Fraction(10) ** power)
    return prefixed | known


UNITS = _units()
for _letter in ("pm", "y", "P", "D", "G", "S", "H"):  # half of a day, and letters that are variables far more often
    UNITS.pop(_letter, None)
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_LONGEST = 40


def known_unit(word: str) -> tuple[_Dimension, Fraction] | None:
    """What a word measures, and how large it is; capitals of a word of several letters do not matter."""
    return UNITS.get(word) or (UNITS.get(word.lower()) if len(word) > 3 else None)


def measure(words: tuple[str, ...]) -> tuple[str, Fraction] | None:
    """What a unit measures, in base units and their powers, and its size; None for a unit that is not known."""
    if len(words) > _LONGEST or (len(words) == 1 and words[0][:1] == "°"):  # a temperature has a zero of its own
        return None
    size, powers = Fraction(1), dict[str, int]()
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
        w, _, raised = w.partition("^") if len(w) > 1 else (w, "", "")
        known = known_unit(w)
        if known is None:
            return None
        i, exponent = (i + 1, int(raised)) if raised else _exponent(words, i + 1)
        total = sign * exponent * power
        for base, n in known[0]:
            powers[base] = powers.get(base, 0) + n * total
        size *= known[1] ** total
        sign = power = 1
    return " ".join(f"{base}^{n}" for base, n in sorted(powers.items()) if n), size


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
