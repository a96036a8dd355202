"""The words of mathematics: what a command, a sign or a word stands for."""

from __future__ import annotations

GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho varrho sigma tau "
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar".split()
)
VARIANTS = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho"}

FUNCTIONS = {
    **{f: f for f in "sin cos tan cot sec csc sinh cosh tanh coth exp ln log max min gcd lcm det sgn".split()},
    **{"arc" + f: "a" + f for f in "sin cos tan cot sec csc".split()},
    **{"a" + f: "a" + f for f in "sin cos tan sinh cosh tanh".split()},
    **{"arc" + f: "a" + f for f in "sinh cosh tanh".split()},
    "ar" + "sinh": "asinh", "arcosh": "acosh", "artanh": "atanh",
    "tg": "tan", "ctg": "cot", "cosec": "csc", "arctg": "atan", "lg": "lg", "lb": "log2", "sign": "sgn",
    "abs": "abs", "floor": "floor", "ceil": "ceil", "sqrt": "sqrt", "cbrt": "cbrt", "binom": "binom", "binomial": "binom",
    "factorial": "!", "Re": "re", "Im": "im",
}  # fmt: skip
INVERSE = {f: "a" + f for f in "sin cos tan cot sec csc sinh cosh tanh".split()}

RELATIONS = {
    "=": "=", "==": "=", "\\equiv": "=", "\\triangleq": "=", ":=": "=", "\\coloneqq": "=", "\\doteq": "=",
    "<": "<", "\\lt": "<", ">": ">", "\\gt": ">",
    "\\le": "<=", "\\leq": "<=", "\\leqslant": "<=", "\\leqq": "<=", "<=": "<=", "=<": "<=",
    "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", "\\geqq": ">=", ">=": ">=",
    "\\ne": "!=", "\\neq": "!=", "!=": "!=", "\\not=": "!=",
    "\\approx": "~", "\\simeq": "~", "\\cong": "~", "\\sim": "~", "\\approxeq": "~",
    "\\in": "in", "\\notin": "notin", "\\subset": "subset", "\\subseteq": "subset",
    "\\to": "->", "\\rightarrow": "->", "\\mapsto": "->", "\\Rightarrow": "->", "\\implies": "->", "->": "->", "\\longrightarrow": "->",
    "\\iff": "->", "\\Leftrightarrow": "->", "=>": "->", "\\propto": "prop", "\\mid": "mid", "\\parallel": "par", "\\perp": "perp",
}  # fmt: skip

SIGNS = {
    "\\cdot": "*", "\\times": "*", "\\ast": "*", "\\cdotp": "*", "**": "^", "\\div": "/", "\\over": "/",
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\nicefrac": "\\frac", "\\sfrac": "\\frac",
    "\\dbinom": "\\binom", "\\tbinom": "\\binom", "\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]",
    "\\lparen": "(", "\\rparen": ")", "\\vert": "|", "\\lvert": "|", "\\rvert": "|", "\\|": "\\|", "\\Vert": "\\|", "\\lVert": "\\|", "\\rVert": "\\|",
    "\\infin": "\\infty", "\\infinity": "\\infty", "\\degree": "°", "\\degrees": "°", "\\circ": "°", "\\varnothing": "\\emptyset", "\\O": "\\emptyset",
    "\\land": "and", "\\wedge": "and", "\\lor": "or", "\\vee": "or", "\\And": "and", "\\And": "and",
    "\\dots": "\\ldots", "\\cdots": "\\ldots", "...": "\\ldots", "\\dotsc": "\\ldots", "\\dotsb": "\\ldots", "\\vdots": "\\ldots", "\\ddots": "\\ldots",
    "\\prime": "'", "\\setminus": "\\setminus", "\\backslash": "\\setminus", "\\bigcup": "\\cup", "\\bigcap": "\\cap",
    "\\lbrace": "\\{", "\\%": "%", "\\$": "$", "\\#": "#", "\\&": "&", "\\_": "_", "\\colon": ":", "\\ratio": ":", "\\tan": "tan",
    "percent": "%", "percentage": "%", "\\percent": "%", "\\pounds": "£", "\\euro": "€", "\\pi": "pi", "\\infty": "oo", "infinity": "oo", "inf": "oo",
    "\\varPi": "pi", "Infinity": "oo", "degrees": "°", "degree": "°", "deg": "°", "\\mathbb{R}": "Reals", "\\R": "Reals", "\\reals": "Reals", "\\Re": "Re", "\\Im": "Im",
    "union": "\\cup", "intersect": "\\cap", "over": "/", "squared": "²", "cubed": "³", "plus": "+", "minus": "-",
    "\\{": "\\{", "\\}": "\\}", "\\imath": "i", "\\jmath": "j", "\\mathrm": "", "sqroot": "sqrt", "\\exp": "exp", "\\choose": "\\choose",
}  # fmt: skip
"""Commands, signs and words with the one spelling that they are read as."""

DROPPED = frozenset(
    "\\left \\right \\big \\Big \\bigg \\Bigg \\bigl \\bigr \\Bigl \\Bigr \\biggl \\biggr \\middle \\displaystyle \\textstyle "
    "\\scriptstyle \\limits \\nolimits \\, \\! \\; \\: \\> \\  \\quad \\qquad ~ \\hfill \\hline \\thinspace \\medspace \\thickspace \\rm \\bf "
    "\\it \\sf \\tt \\cal \\boldmath \\normalsize \\large \\Large \\small \\displaylimits \\limits \\nonumber \\notag \\enspace \\par "
    "\\allowbreak \\phantom \\strut \\mathstrut \\negthinspace \\space \\noindent \\centering \\/ \\\\$ $ $$ \\( \\) \\[ \\] `".split(
        " "
    )
) | {"\\\t", "\\\n", "\\ "}
"""Spacing, sizes and fences: they say nothing."""

NUMBER_WORDS = {w: i for i, w in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
BASES = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
}
