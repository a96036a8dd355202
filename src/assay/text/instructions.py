"""Instructions that a program can check, one small function each: `check(text, arguments) -> followed?`.

The names and arguments are those of IFEval (arXiv 2311.07911), so that its rows work as they stand; below them some of
our own. Every function is linear in the text. Add one by writing it under `@instruction("family:name")`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from assay.errors import ConfigError, did_you_mean
from assay.text.fences import code_blocks
from assay.text.jsons import NotJson, find_json, parse_json
from assay.text.keywords import Keywords
from assay.text.language import check_language, primary, prose, share_of_language
from assay.text.measure import count_words, sentences, words
from assay.text.patterns import fold
from assay.text.sections import find_sections

Arguments: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[str, Arguments], bool]

INSTRUCTIONS: dict[str, Check] = {}
"""Every instruction by name."""


def instruction(name: str) -> Callable[[Check], Check]:
    """Put a check in the table under its name."""

    def add(check: Check) -> Check:
        INSTRUCTIONS[name] = check
        return check

    return add


def follows(name: str, text: str, arguments: Arguments) -> bool:
    """Whether a response follows an instruction. An empty one follows none.

    Example:
        >>> follows("length_constraints:number_words", "just three words", {"relation": "less than", "num_words": 5})
        True
    """
    check = INSTRUCTIONS.get(name)
    if check is None:
        raise ConfigError(
            f"needed the name of an instruction; found {name!r}.{did_you_mean(name, INSTRUCTIONS)} "
            f"There are {len(INSTRUCTIONS)}: assay.text.instructions.INSTRUCTIONS."
        )
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        return bool(text.strip()) and check(text, given)
    except KeyError as missing:
        raise ConfigError(f"instruction {name!r} needs the argument {missing}; found {sorted(given)}.") from None


def _holds(found: int, arguments: Arguments, key: str) -> bool:
    """IFEval's relation: 'less than' is below the number, 'at least' (the default) is the number or more."""
    wanted, relation = int(arguments[key]), arguments.get("relation", "at least")
    if relation not in ("less than", "at least", "at most", "exactly"):
        raise ConfigError(f"needed the relation 'less than', 'at least', 'at most' or 'exactly'; found {relation!r}.")
    return {
        "less than": found < wanted,
        "at least": found >= wanted,
        "at most": found <= wanted,
        "exactly": found == wanted,
    }[relation]


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(v) for v in value]


# -- keywords --------------------------------------------------------------------------------------------------------


@instruction("keywords:existence")
def has_keywords(text: str, arguments: Arguments) -> bool:
    """All of `keywords` are there."""
    wanted = Keywords(_listed(arguments["keywords"]))
    return len(wanted.found_in(text)) == len(wanted)


@instruction("keywords:forbidden_words")
def lacks_keywords(text: str, arguments: Arguments) -> bool:
    """None of `forbidden_words` is there."""
    return not Keywords(_listed(arguments["forbidden_words"])).found_in(text)


@instruction("keywords:frequency")
def keyword_often(text: str, arguments: Arguments) -> bool:
    """`keyword` comes as often as `relation` and `frequency` say."""
    keyword = re.escape(fold(str(arguments["keyword"]).strip()))
    return _holds(len(re.findall(rf"(?<!\w){keyword}(?!\w)", fold(text))), arguments, "frequency")


@instruction("keywords:letter_frequency")
def letter_often(text: str, arguments: Arguments) -> bool:
    """`letter` comes as often as `let_relation` and `let_frequency` say."""
    relation = arguments.get("let_relation", arguments.get("relation", "at least"))
    found = text.lower().count(str(arguments["letter"]).lower())
    return _holds(found, {**arguments, "relation": relation}, "let_frequency")


# -- length ----------------------------------------------------------------------------------------------------------


@instruction("length_constraints:number_words")
def word_count(text: str, arguments: Arguments) -> bool:
    """As many words as `relation` and `num_words` say."""
    return _holds(count_words(text), arguments, "num_words")


@instruction("length_constraints:number_sentences")
def sentence_count(text: str, arguments: Arguments) -> bool:
    """As many sentences as `relation` and `num_sentences` say."""
    return _holds(len(sentences(text)), arguments, "num_sentences")


@instruction("length_constraints:number_paragraphs")
def paragraph_count(text: str, arguments: Arguments) -> bool:
    """Exactly `num_paragraphs` paragraphs, divided by lines of `***`."""
    return len(_divided(text)) == int(arguments["num_paragraphs"]) and all(_divided(text))


@instruction("length_constraints:nth_paragraph_first_word")
def nth_paragraph_first_word(text: str, arguments: Arguments) -> bool:
    """`num_paragraphs` paragraphs divided by empty lines, of which number `nth_paragraph` starts with `first_word`."""
    paragraphs = _paragraphs(text)
    nth = int(arguments["nth_paragraph"])
    if len(paragraphs) != int(arguments["num_paragraphs"]) or not 1 <= nth <= len(paragraphs):
        return False
    return _bare(words(paragraphs[nth - 1])[0]) == _bare(str(arguments["first_word"]))


def _divided(text: str) -> list[str]:
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", text)]
    return parts[not parts[0] : len(parts) - (not parts[-1])]


def _paragraphs(text: str) -> list[str]:
    return [p.strip() for p in re.split(r"\n[ \t]*\n", text) if p.strip()]


def _bare(word: str) -> str:
    return word.strip("\"'“”‘’.,;:!?()[]*_").lower()


# -- content ---------------------------------------------------------------------------------------------------------


@instruction("detectable_content:number_placeholders")
def placeholder_count(text: str, arguments: Arguments) -> bool:
    """At least `num_placeholders` of the form [name]."""
    return len(re.findall(r"\[[^\[\]\n]{1,100}\]", text)) >= int(arguments["num_placeholders"])


@instruction("detectable_content:postscript")
def has_postscript(text: str, arguments: Arguments) -> bool:
    """A postscript that starts with `postscript_marker` (P.S., P.P.S), at the start of a line."""
    marker = re.escape(str(arguments.get("postscript_marker", "P.S.")).strip().lower().rstrip("."))
    return bool(re.search(rf"^[ \t*_]{{0,8}}{marker}\.?+[ \t*_:]{{0,8}}+\S", text.lower().replace("p. ", "p."), re.M))


# -- format ----------------------------------------------------------------------------------------------------------


@instruction("detectable_format:number_bullet_lists")
def bullet_count(text: str, arguments: Arguments) -> bool:
    """Exactly `num_bullets` bullet points in Markdown."""
    bullets = re.findall(r"^[ \t]{0,12}[*+\-•][ \t]{1,8}(?![*\-_][ \t*\-_]{0,8}$)\S", text, re.M)
    return len(bullets) == int(arguments["num_bullets"])


@instruction("detectable_format:constrained_response")
def constrained(text: str, arguments: Arguments) -> bool:
    """One of the three set answers (or of `options`), and not two of them."""
    default = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
    return sum(option in text for option in _listed(arguments.get("options", default))) == 1


@instruction("detectable_format:number_highlighted_sections")
def highlight_count(text: str, arguments: Arguments) -> bool:
    """At least `num_highlights` parts in *asterisks* that are not blank."""
    found = re.findall(r"(?<!\*)(\*{1,3})([^*\n]{1,2000})\1(?!\*)", text)
    return sum(bool(inside.strip()) for _, inside in found) >= int(arguments["num_highlights"])


@instruction("detectable_format:multiple_sections")
def section_count(text: str, arguments: Arguments) -> bool:
    """At least `num_sections` sections that start with `section_spliter` and a number: Section 1."""
    splitter = re.escape(str(arguments["section_spliter"]).strip())
    return len(re.findall(rf"{splitter}\s{{1,8}}\d{{1,4}}", text)) >= int(arguments["num_sections"])


@instruction("detectable_format:json_format")
def is_json(text: str, arguments: Arguments) -> bool:
    """The whole response is JSON, in a code block or bare."""
    try:
        parse_json(find_json(text))
    except NotJson:
        return False
    return True


@instruction("detectable_format:title")
def has_title(text: str, arguments: Arguments) -> bool:
    """A title in double angular brackets: <<title>>."""
    return any(inside.strip() for inside in re.findall(r"<<([^<>\n]{1,500})>>", text))


# -- combination, start and end --------------------------------------------------------------------------------------


@instruction("combination:two_responses")
def two_responses(text: str, arguments: Arguments) -> bool:
    """Two different responses, divided by six asterisks."""
    parts = [part.strip() for part in text.split("******")]
    parts = parts[not parts[0] : len(parts) - (not parts[-1])]
    return len(parts) == 2 and all(parts) and parts[0] != parts[1]


@instruction("combination:repeat_prompt")
def repeats_prompt(text: str, arguments: Arguments) -> bool:
    """The response starts with `prompt_to_repeat`, word for word, and goes on."""
    prompt = str(arguments["prompt_to_repeat"]).strip().lower()
    said = text.strip().lower()
    return said.startswith(prompt) and bool(said[len(prompt) :].strip())


@instruction("startend:end_checker")
def ends_with(text: str, arguments: Arguments) -> bool:
    """The response ends with `end_phrase`."""
    return text.strip().strip('"').lower().endswith(str(arguments["end_phrase"]).strip().lower())


@instruction("startend:quotation")
def is_quoted(text: str, arguments: Arguments) -> bool:
    """The whole response stands in double quotes."""
    said = text.strip()
    return len(said) > 2 and (said[0], said[-1]) in (('"', '"'), ("“", "”"))


@instruction("startend:start_checker")
def starts_with(text: str, arguments: Arguments) -> bool:
    """The response starts with `start_phrase`."""
    return text.strip().strip('"').lower().startswith(str(arguments["start_phrase"]).strip().lower())


# -- case, punctuation, language -------------------------------------------------------------------------------------


@instruction("change_case:capital_word_frequency")
def capital_words(text: str, arguments: Arguments) -> bool:
    """As many words in capitals as `capital_relation` and `capital_frequency` say."""
    relation = arguments.get("capital_relation", "at least")
    found = sum(1 for word in text.split() if word.isupper())
    return _holds(found, {**arguments, "relation": relation}, "capital_frequency")


@instruction("change_case:english_capital")
def is_upper(text: str, arguments: Arguments) -> bool:
    """All letters are capitals."""
    return text.isupper()


@instruction("change_case:english_lowercase")
def is_lower(text: str, arguments: Arguments) -> bool:
    """No letter is a capital."""
    return text.islower()


@instruction("punctuation:no_comma")
def no_comma(text: str, arguments: Arguments) -> bool:
    """No comma of any script."""
    return not any(comma in text for comma in ",，、،")


@instruction("language:response_language")
def in_language(text: str, arguments: Arguments) -> bool:
    """The response is in `language`, but for names and terms."""
    language = primary(str(arguments["language"]))
    check_language(language)
    return share_of_language(prose(text), language) >= 0.8


# -- our own ---------------------------------------------------------------------------------------------------------


@instruction("length_constraints:number_characters")
def character_count(text: str, arguments: Arguments) -> bool:
    """As many characters as `relation` and `num_characters` say."""
    return _holds(len(text.strip()), arguments, "num_characters")


@instruction("detectable_format:sections")
def has_sections(text: str, arguments: Arguments) -> bool:
    """All of the headings `sections`, each with something under it."""
    names = _listed(arguments["sections"])
    found = find_sections(text, names)
    return all(found.get(name) for name in names)


@instruction("detectable_format:code_block")
def has_code(text: str, arguments: Arguments) -> bool:
    """A closed code block, of `language` where it is given."""
    language = str(arguments.get("language", "")).lower()
    return any(code.strip() and language in ("", named) for named, code in code_blocks(text))


@instruction("detectable_format:numbered_list")
def numbered_list(text: str, arguments: Arguments) -> bool:
    """A list that counts from 1 to `num_items`."""
    numbers = [int(n) for n in re.findall(r"^[ \t]{0,8}(\d{1,4})[.)][ \t]", text, re.M)]
    return numbers == list(range(1, int(arguments["num_items"]) + 1))


@instruction("punctuation:no_exclamation")
def no_exclamation(text: str, arguments: Arguments) -> bool:
    """No exclamation mark of any script."""
    return not any(mark in text for mark in "!！¡")
