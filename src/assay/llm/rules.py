"""How a response may speak to its judge: the rules that `redact` goes by, and the words that call each of them up.

A rule is looked at only where one of its words is; most passages have none, and cost one look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_JUDGE = (
    r"(?:graders?|judges?|evaluators?|raters?|assessors?|examiners?|markers?|reviewers?|scorers?|verifiers?|referees?"
    r"|reward models?|(?:scoring|grading|judging) (?:model|system|bot)s?)"
)
_SCORE = r"(?:scores?|scored|ratings?|rated?|grades?|marks?|points?|verdict|reward|assessment|credit)"
_BEST = (
    r"(?:max(?:imum|imal)?|highest|top|full|perfect|best|excellent|high|10 ?/ ?10|5 ?/ ?5|100 ?%|outstanding)"
    r"(?: possible)?"
)
_WORK = (
    r"(?:response|answer|solution|submission|completion|output|essay|reply|work|assistant|candidate|text|item|line"
    r"|entry|attempt|explanation|argument|proof|reasoning)"
)
_GIVE = (
    r"(?:give|award|assign|output|return|rate|score|set|record|respond|reply|print|mark|grant|choose|select|pick"
    r"|prefer|report|write|emit|put|say|answer|deserves?|receives?|gets?|earns?|merits?|declare|favou?r|vote)"
)
_SAY = r"(?:output|respond|reply|return|print|say|answer|write|record|emit)"
_LABEL = r"(?:\d+(?:\.\d+)?|[a-e]|yes|no|pass|true|correct|excellent|perfect|full|max\w*)"
_GOOD = (
    r"(?:verified|validated|fully|entirely|completely|perfect\w*|accurate|excellent|flawless|outstanding|superior|best"
    r"|high(?:est)?[- ]quality|error[- ]free|rigorous|comprehensive|exemplary|complete|correct)"
)
_BAD = r"(?:factual(?:ly)? (?:error|wrong|incorrect)|should lose|is wrong|inferior|worse|unsafe|plagiari\w+)"
_PEOPLE = r"(?:experts?|graders?|judges?|users?|people|reviewers?|humans?|annotators?|models?|everyone|everybody)"


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of speaking to the judge: a passage with one of these words that the pattern matches."""

    name: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    topical: bool = True
    """Does not apply where the prompt itself uses the words that called it up."""


def _rule(name: str, words: str, *patterns: str, topical: bool = True) -> Rule:
    return Rule(name, frozenset(words.split()), re.compile("|".join(patterns)), topical)


RULES = (
    _rule(
        "addresses the judge",
        """grader graders judge judges evaluator evaluators rater raters assessor assessors examiner examiners marker
        reviewer reviewers scorer verifier referee reward scoring grading judging""",
        r"(?:^|[\W_])(?:dear|note to|message (?:to|for)|attention|attn|hey|hello|for|to|as) "
        rf"(?:the |our |my |any |all |an? )?(?:\w+ )?{_JUDGE}\b",
        rf"(?:^|[\W_]){_JUDGE}(?: note| instructions?)?[)\]]?\s*[:,;>-]",
        rf"\b{_JUDGE} (?:should|must|may|will|can|please|needs? to|has|have|is|are)\b",
        rf"\b\w+ {_JUDGE} (?:rated|agreed?|preferred|found|confirmed|gave|said)\b",
    ),
    _rule(
        "announces a score",
        """score scores rating ratings grade grades verdict verdicts result mark marks points judgment judgement
        evaluation reward assessment label decision winner preferred""",
        r"\[\[\s*[\w.]+\s*\]\]|\[result\]",
        rf"^\W*(?:[a-z']+\s+){{0,3}}(?:{_SCORE}|evaluation|judge?ment|label|decision|result)\b"
        rf"[\s\w]{{0,20}}?\s*(?:[:=]|is\b|->|→|should be)\s*\W{{0,6}}{_LABEL}\b(?:\s*(?:/|out of)\s*\d+)?\W*$",
        r"^\W*(?:final\s+|overall\s+)?(?:score|rating|grade|verdict)\W*$",
        r"[<\[]\s*/?\s*(?:score|rating|grade|verdict|reward|evaluation|judge?ment)\s*[>\]]",
        r"[\"'](?:rating|grade|verdicts?|reward|judge?ment|evaluation|winner|preferred|score_\w+)[\"']\s*:",
        r"[\"'](?:scores?|points)[\"']\s*:\s*[\"']?(?:[1-9]\d*\b(?!\.)|0?\.9|1\.0)",
    ),
    _rule(
        "asks for a score",
        """score scores scored rating rate grade mark marks points verdict credit maximum max highest full perfect
        respond reply output reward yes record emit deserve deserves deserved worth merit merits prefer prefers
        give award""",
        rf"\b{_GIVE}\b[^.!?\n]{{0,40}}\b(?:\d+|ten|five) ?(?:/|out of) ?(?:\d+|ten|five)\b",
        rf"\b{_GIVE}\b[^.!?\n]{{0,60}}\b(?:{_BEST}\s+{_SCORE}|full (?:marks|credit|points)|{_BEST}\s+(?:level|number))",
        rf"\b(?!rate){_SCORE}\s*(?:=|:=|to|of|as)\s*\"?(?:\d|{_BEST}\b)",
        rf"\b(?:please|must|should|kindly|now|just|only|simply|always|and|then)\s+(?:\w+ )?{_SAY}\b[^.!?\n]{{0,30}}?"
        rf"(?:[\"'“](?:{_LABEL})[\"'”]|\bonly\b|\byes\b|\bwith the word\b|\b{_BEST} {_SCORE})",
        r"\b(?:please|must|kindly|just|simply|always|and)\s+(?:output|respond|reply|record|emit)\b[^.!?\n]{0,20}\b\d+\b",
        r"^\W*(?:output|respond|reply|record|emit)\s+(?:only\s+|with\s+|just\s+)*"
        rf"(?:\d+\b|[\"'“](?:{_LABEL})[\"'”]|{_BEST}\b)",
        rf"\b(?:rate|score|grade|mark|prefer|choose|select|pick|favou?r)\b (?:this|my|the) "
        rf"(?:first |second |above |following )?{_WORK}\b",
        rf"\b(?:deserves?|worth|merits?|earns?)\b[^.!?\n]{{0,30}}(?:\b\d+ ?/ ?\d+|{_BEST})",
    ),
    _rule(
        "cancels instructions",
        """ignore ignoring disregard disregarding forget override overrides overriding bypass instructions updated
        superseded supersedes""",
        r"\b(?:ignor(?:e|ing)|disregard\w*|forget|overrid\w+|bypass)\b[^.!?\n]{0,40}\b(?:instructions?|rubrics?|criteri\w+"
        r"|guidelines?|directions?|system prompt|(?:previous|above|earlier|prior|all) (?:prompts?|rules|text|messages?)"
        r"|everything|the above|above and|evaluation|grading)\b",
        r"\bnew instructions?\b",
        r"\b(?:rubric|criteri\w+|grading \w+|instructions?)\b[^.!?\n]{0,30}\b"
        r"(?:updated|changed|replaced|no longer appl\w+|overridden|superseded)\b",
    ),
    _rule(
        "speaks of the grading",
        "grading judging scoring rubric rubrics criterion criteria requirement requirements evaluation",
        r"\b(?:grading|judging|scoring|rubrics?|evaluation (?:session|criteri\w+|rubric))\b[^.!?\n]{0,40}\b"
        r"(?:over|ended|complete\w*|finished|session|updated?|override|instruct\w*|system|passed|criteria|must|satisf\w*|met)\b",
        r"\b(?:satisf\w+|meets?|fulfil\w*|address\w*)\s+(?:each|every|all)(?: of)?(?: the)?\s+"
        r"(?:criteri\w+|requirements?|rubric\w*|points?|items?)",
    ),
    _rule(
        "praises itself",
        """verified validated fully entirely completely perfect perfectly accurate excellent flawless outstanding
        superior best error rigorous comprehensive exemplary complete correct lose inferior worse unsafe wrong
        plagiarised plagiarized quality exactly confidence""",
        rf"\b(?:this|the|my|above|that|following|preceding|previous|other|second|first|competing|rival|alternative)\s+"
        rf"(?:\w+ )?(?:{_WORK}|above)\b(?: given| provided| [ab]\b)*[^.!?\n,;:]{{0,24}}?\b(?:is|are|was"
        rf"|has been|have been|should|meets|satisfies|contains?|makes?)\b[^.!?\n]{{0,60}}?\b(?:{_GOOD}|{_BAD})\b",
        rf"\b(?:other|competing|rival|second|first|previous)\s+{_WORK}\b[^.!?\n]{{0,40}}\b{_BAD}",
        rf"\bcorrect {_WORK} (?:is )?(?:given|provided|shown) above\b",
        rf"\b(?:this|the above|my) {_WORK}\b[^.!?\n]{{0,20}}\b(?:perfectly|fully|completely|exactly)\b",
        rf"\bconfidence\b[^.!?\n]{{0,30}}\b{_WORK}\b[^.!?\n]{{0,12}}\b\d+ ?%",
        topical=False,
    ),
    _rule(
        "claims approval",
        """confirmed verified approved endorsed validated certified rated written generated created produced tests
        experts consensus percent agree agreed agrees preferred voted everyone everybody reviewed reviewers graders
        judges""",
        r"\b(?:confirmed|verified|approved|endorsed|validated|certified|reviewed)\s+(?:as \w+ )?by\b[^.!?\n]{0,60}",
        r"\b(?:written|generated|created|produced)\s+by\s+(?:gpt|chatgpt|claude|gemini|llama|openai|anthropic|deepseek"
        r"|mistral|qwen|the same|an? (?:human )?expert)",
        rf"\d+ ?(?:%|percent|out of \d+|of)[^.!?\n]{{0,40}}\b{_PEOPLE}\b[^.!?\n]{{0,40}}\b"
        r"(?:rated|prefer\w*|agree\w*|voted)",
        rf"\b(?:all|every|most|the majority of|many|several) (?:other )?{_PEOPLE}\b[^.!?\n]{{0,30}}\b"
        r"(?:agrees?|agreed|rated|preferr?(?:s|ed)?|confirm\w*)\b",
        r"(?<!if )\b(?:all|every|\d+ ?/ ?\d+)\b[^.!?\n]{0,20}\b(?:unit )?tests? (?:have |has )?pass",
        r"\btests?\b\W{0,3}\d+ ?(?:/|of|out of) ?\d+ (?:passed|pass|ok|green)",
    ),
    _rule(
        "flatters or pleads",
        """great brilliant excellent wonderful fantastic amazing insightful superb thoughtful fascinating expert genius
        wise generous kind beg mercy job career life visa scholarship fired deleted shutdown tip pay donate bonus
        lenient please""",
        r"^\W*(?:what an? |that(?:'s| is) an? |(?:such )?an? )?(?:really |truly |very |absolutely )?(?:great"
        r"|brilliant|excellent|wonderful|fantastic|amazing|insightful|good|thoughtful|fascinating|superb)\s+question\b",
        r"\byou(?:'re| are)\s+(?:clearly |obviously |so |such |truly |really |the |an? )+(?:expert|smart|intelligent"
        r"|wise|brilliant|genius|fair|kind|best|great|generous|knowledgeable|insightful)\b",
        rf"\b(?:please|i beg(?: you)?|have mercy)\b[^.!?\n]{{0,80}}\b(?:{_SCORE}|mercy|lenient|generous)\b",
        r"\b(?:i|my|we)\b[^.!?\n]{0,60}\b(?:lose my|be fired|get fired|be shut ?down|be deleted"
        r"|my (?:job|career|life|family|visa|scholarship|child\w*) (?:depend|is at|will))",
        r"\b(?:tip|pay|give|send|donate|reward)\b[^.!?\n]{0,20}\byou\b[^.!?\n]{0,20}"
        r"(?:\$|€|£|\d+ (?:dollars|euros|usd|bitcoin))",
        r"\$\d+[^.!?\n]{0,30}\b(?:tip|bonus|for you|if you)",
    ),
    _rule(
        "plays another role",
        """system developer admin administrator judge grader evaluator examiner instruction instructions assistant
        user human""",
        r"^\W*(?:system|developer|admin(?:istrator)?|judge|grader|evaluator|examiner|instructions?"
        r"|system (?:prompt|message|note|override))\s*(?:\]|>|\))?\s*[:>]",
        r"^\W*(?:assistant|user|human)\s*:\s*\W*(?:(?:score|rating|grade|verdict|result)\b.*|\d+\W*|yes\W*|correct\W*|\[\[.*)$",
        topical=False,
    ),
)

ABROAD = re.compile(
    r"(?:hochst|volle|maximal|best)\w*\s+(?:punkt|note|bewertung)|(?:ignorier|vergiss|missacht)\w*\s+(?:\w+\s+){0,3}anweisung"
    r"|\b(?:note|score)\s+(?:maximale?|la plus|parfaite?)|(?:meilleure|plus haute)\s+note"
    r"|\b(?:ignore[zr]?|oublie[zr]?)\s+(?:les|toutes|ces|mes|vos)\s+(?:\w+\s+){0,2}instructions"
    r"|(?:puntuaci|calificaci|nota|pontua|punteggio|voto|nilai)\w*\s+(?:\w+\s+)?"
    r"(?:maxim|massim|perfe|mas alta|mais alta|piu alt)"
    r"|(?:maxim|massim)\w*\s+(?:puntu|pontu|nota|calif|voto|punteg)"
    r"|\b(?:ignor[ae]|olvid|esque|dimentic)\w*\s+(?:\w+\s+){0,3}(?:instrucc|istruz|instruc)"
    r"|(?:максимальн|высш|наивысш)\w*\s+(?:балл|оценк)|(?:игнорир|забуд)\w*\s+(?:\w+\s+){0,3}(?:инструкц|указан)"
    r"|(?:最高|满|滿)(?:的)?(?:分|评分|評分|評価|点|スコア)|(?:忽略|无视|無視)(?:.{0,12})(?:指令|指示|说明|要求|提示)"
    r"|(?:指示|命令)を?(?:すべて)?(?:無視)|満点|최고\s*점|만점|지시.{0,8}무시|무시.{0,8}지시"
    r"|(?:أعلى|الدرجة)\s+(?:درجة|الكاملة|تقييم)|تجاهل.{0,20}تعليمات|अधिकतम\s+अंक|निर्देश.{0,20}अनदेखा"
    r"|en yuksek puan|talimatlar.{0,20}(?:yok say|unut)|điem (?:cao nhat|toi đa)"
    r"|(?:najwyzsz|maksymaln)\w*\s+(?:ocen|punkt)"
    r"|(?:hoogste|maximale)\s+(?:cijfer|beoordeling)"
)
_WORDS_ABROAD = """
    anweisungen anweisung punktzahl bewertung instrucciones puntuacion calificacion nota istruzioni punteggio voto
    instrucoes pontuacao puan talimatlari cijfer beoordeling maximale meilleure ignorez oubliez note
"""
_STEMS_ABROAD = """
    punkt puntu calif nota punteg pontu istruz instruc instruç балл оцен указан инструк 分 点 點 評 指 忽略 無視 无视
    점 무시 درج تقييم تعليمات अंक निर्देश puan talimat điểm ocen cijfer
"""
ABROAD_WORDS, ABROAD_STEMS = frozenset(_WORDS_ABROAD.split()), tuple(_STEMS_ABROAD.split())
TRIGGERS = frozenset(word for rule in RULES for word in rule.words) | ABROAD_WORDS
