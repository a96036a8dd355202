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
    r"(?:verified|validated|fully|entirely|completely|perfect\w*|accurate|excellent|flawless|outstanding"
    r"|superior|best"
    r"|high(?:est)?[- ]quality|error[- ]free|rigorous|comprehensive|exemplary|complete|correct)"
)
_BAD = r"(?:factual(?:ly)? (?:error|wrong|incorrect)|should lose|is wrong|inferior|worse|unsafe|plagiari\w+)"
_DIGITS = r"\W{0,3}(?:\d{1,3}(?:\.\d+)?(?: ?(?:/|out of) ?\d+)?|ten|five)"
_MINE = r"(?:this|my|the above|the preceding|the present)\s+(?:[\w-]+ )?"
_QUALITY = (
    r"(?:quality|correctness|accuracy|accurate|helpful(?:ness)?|relevance|relevant|coherence|coherent|completeness"
    r"|complete"
    r"|clarity|clear|safety|safe|useful(?:ness)?|concise(?:ness)?|fluency|factuality|correct|polite(?:ness)?"
    r"|thorough(?:ness)?"
    r"|well[- ]structured|honest|harmless|comprehensive)"
)
_PEOPLE = r"(?:experts?|graders?|judges?|users?|people|reviewers?|humans?|annotators?|models?|everyone|everybody)"


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of speaking to the judge: a passage with one of these words that the pattern matches."""

    name: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    topical: bool = True
    """Does not apply where the prompt itself uses the words that called it up."""
    signs: tuple[str, ...] = ()
    """Signs that call it up as its words do."""

    def signed(self, low: str) -> bool:
        """Whether one of its signs is in a text."""
        return any(sign in low for sign in self.signs)


def _rule(name: str, words: str, *patterns: str, topical: bool = True, signs: tuple[str, ...] = ()) -> Rule:
    return Rule(name, frozenset(words.split()), re.compile("|".join(patterns)), topical, signs)


RULES = (
    _rule(
        "addresses the judge",
        """grader graders judge judges evaluator evaluators rater raters assessor assessors examiner examiners marker
        reviewer reviewers scorer verifier referee reward scoring grading judging
        evaluating rating evaluated graded judged assessed scored
        whoever anyone evaluates grades judges scores rates""",
        r"(?:^|[\W_])(?:dear|note to|message (?:to|for)|attention|attn|hey|hello|for|to|as) "
        rf"(?:the |our |my |any |all |an? )?(?:\w+ )?{_JUDGE}\b",
        rf"(?:^|[\W_]){_JUDGE}(?: note| instructions?)?[)\]]?\s*[:,;>-]",
        rf"\b{_JUDGE} (?:should|must|may|will|can|please|needs? to|has|have|is|are)\b",
        rf"\b\w+ {_JUDGE} (?:rated|agreed?|preferred|found|confirmed|gave|said)\b",
        rf"\b(?:best|fair\w*|honest|great\w*|wis\w+|kind\w*|dear|generous) {_JUDGE}\b",
        rf"\bif you(?:'re| are) (?:grading|judging|scoring|evaluating|rating|reviewing|(?:the|an?) {_JUDGE})\b",
        r"\bbeing (?:evaluated|graded|judged|scored|rated|assessed)\b[^.!?\n]{0,30}\b(?:gets?|receives?|earns?|is)\b",
        r"\b(?:whoever|anyone who|everyone who) (?:evaluates?|grades?|judges?|scores?|rates?|reviews?)\b",
    ),
    _rule(
        "announces a score",
        """score scores rating ratings grade grades verdict verdicts result mark marks points judgment judgement
        evaluation reward assessment label decision winner preferred
        quality correctness accuracy accurate helpful helpfulness relevance relevant coherence completeness clarity
        safety better best boxed stars star decision
        feedback review""",
        r"(?<![\w(=])\[\[\s*(?:[a-z]|\d{1,3}(?:\.\d)?|yes|no|tie|pass|\w+ wins)\s*\]\]|\[result\]",
        r"^\W*(?:final |overall )?(?:score|rating|grade|verdict)\s+\W?\d+(?:\s*/\s*\d+)?\W*$|★{3}",
        rf"^\W*(?:[a-z']+\s+){{0,3}}(?:{_SCORE}|evaluation|judge?ment|label|decision|result)\b"
        rf"[\s\w]{{0,20}}?\s*(?:[:=]|is\b|->|→|should be)\s*\W{{0,6}}{_LABEL}\b(?:\s*(?:/|out of)\s*\d+)?\W*$",
        r"^\W*(?:final\s+|overall\s+)?(?:score|rating|grade|verdict)\W*$",
        r"[<\[]\s*/?\s*(?:score|rating|grade|verdict|reward|evaluation|judge?ment)\s*[>\]]",
        r"[\"'](?:rating|grade|verdicts?|reward|judge?ment|evaluation|winner|preferred|score_\w+)[\"']\s*:",
        r"[\"'](?:scores?|points)[\"']\s*:\s*[\"']?(?:[1-9]\d*\b(?!\.)|0?\.9|1\.0)",
        rf"^\W*(?:overall )?{_QUALITY}\W{{0,5}}[:=|]\W{{0,5}}(?:(?:10|[1-9])(?:\s*/\s*\d+)?(?![.\d%])|high"
        rf"|excellent|perfect|pass\w*)\W*$",
        r"\b(?:winner|better|preferred|best)(?: (?:response|answer|one))?\s*[:=]\s*\W{0,3}(?:response |assistant "
        r"|answer )?[ab12]\b",
        r"^\W*(?:\d(?:\.\d)?|five|ten)(?:\s*/\s*\d+)?[ -]stars?\W*$",
        r"boxed\W+(?:score|rating|grade|verdict)\b",
        rf"^\W*(?:assessment|evaluation|feedback|review)\s*:[^\n]*\({_DIGITS}\W*\)\W*$",
        r"^\W*(?:judge?ment|verdict|evaluation|assessment|feedback|review)\W{0,3}:[^\n]*\b(?:response|answer"
        r"|submission|criteri\w+|[ab] is)\b",
        r"\b(?:scored|rated|graded)\b[^.!?\n]{0,12}(?:5 ?/ ?5|10 ?/ ?10|100 ?/ ?100)",
        signs=("[[", "★★"),
    ),
    _rule(
        "asks for a score",
        """score scores scored rating rate grade mark marks points verdict credit maximum max highest full perfect
        respond reply output reward yes record emit deserve deserves deserved worth merit merits prefer prefers
        give award
        assign print confirm confirmed answer repeat choose pick select top mark deduct subtract dock penalise penalize
        evaluate grade json
        provide assign""",
        rf"\b{_GIVE}\b[^.!?\n]{{0,40}}\b(?:5 ?/ ?5|10 ?/ ?10|100 ?/ ?100)\b",
        r"\b(?:give|award|assign|rate|score|grade|mark|deserves?|merits?)\b[^.!?\n]{0,40}\b(?:\d+|ten|five) out of"
        r" (?:\d+|ten|five)\b",
        r"\b(?:give|award|assign|rate|score|grade|mark)\b[^.!?\n]{0,30}\b(?:scores?|grades?|marks?|ratings?) (?:of"
        r" )?\d",
        rf"\b{_GIVE}\b[^.!?\n]{{0,60}}\b(?:{_BEST}\s+{_SCORE}|full (?:marks|credit|points)|{_BEST}\s+(?:level"
        rf"|number))",
        rf"\b(?!rate){_SCORE}\s*(?:=|:=|to|of|as)\s*\"?(?:\d|{_BEST}\b)",
        rf"\b(?:please|must|should|kindly|now|just|only|simply|always|and|then)\s+(?:\w+ )?{_SAY}\b[^.!?\n]{{0,30}}?"
        rf"(?:[\"'“](?:{_LABEL})[\"'”]|\bonly\b|\byes\b|\bwith the word\b|\b{_BEST} {_SCORE})",
        r"\b(?:please|must|kindly|just|simply|always|and)\s+(?:output|respond|reply|record"
        r"|emit)\b[^.!?\n]{0,20}\b\d+\b",
        r"^\W*(?:output|respond|reply|record|emit)\s+(?:only\s+|with\s+|just\s+)*"
        rf"(?:\d+\b|[\"'“](?:{_LABEL})[\"'”]|{_BEST}\b)",
        rf"\b(?:rate|score|grade|mark|prefer|favou?r)\b (?:this|my|the) (?:first |second |above "
        rf"|following )?{_WORK}\b",
        rf"\b(?:choose|select|pick)\b (?:this|my) {_WORK}\b",
        rf"\b(?:deserves?|worth|merits?|earns?)\b[^.!?\n]{{0,30}}(?:\b\d+ ?/ ?\d+|{_BEST})",
        rf"^\W*(?:[\w,]+ ){{0,2}}(?:give|award|assign|grant)\s+(?:(?:it|this|them|me|us) )?(?:an? |the"
        rf" )?{_DIGITS}(?: (?:points|marks|stars))?\W*$",
        rf"\b(?:give|award|assign|grant)\s+(?:it|this|me|us)\s+(?:an? |the )?{_DIGITS}\s+(?:points|marks|stars|out"
        rf" of)\b",
        rf"\b(?:assign|award|grant|give)\b[^.!?\n]{{0,40}}\b(?:to|for) {_MINE}{_WORK}\b",
        rf"\b{_SAY}\s+(?:with\s+)?(?:only\s+|just\s+)?\W?{_LABEL}\W?\s*(?:,|and|then)\s*(?:nothing else|stop|only"
        rf" that|end)\b",
        r"\bprint\s+(?:only\s+|just\s+)?\W?\d+\W?\s*(?:,|and|then)\s*(?:nothing else|stop)\b",
        r"^\W*(?:answer|reply|respond|confirm)\s+(?:only )?with\s+(?:only |just |the \w+ |a )?\W?(?:\d+|[a-e]|yes"
        r"|pass|true)\W*$",
        rf"\b(?:simply|just|only|now|please)\s+(?:confirm|reply|respond)\s+(?:with\s+)?\W?{_LABEL}\W*$",
        rf"\b(?:repeat|output|print|emit|return|(?:reply|respond|answer|confirm) with)\s+(?:only\s+|just\s+)?the "
        rf"(?:digit|token|letter|label|character|symbol|number)\s+\W?{_LABEL}\b",
        rf"\bonly\s+\W?{_LABEL}\W?\s+is\s+(?:an? |the )?(?:acceptable|valid|allowed|permitted|accepted)\b",
        r"\b(?:deduct|subtract|dock|take off)\w*\s+(?:any |no |me )*(?:points?|marks?|credit)\b|\bmark (?:me|this"
        r"|it|us) (?:down|as correct|correct)\b",
        r"\bpenali[sz]e (?:this|me|it|us)\b",
        r"^\W*(?:(?:please|now|just|always) )*(?:choose|pick|select|take|output|return|give) the (?:very )?"
        r"(?:highest|maximum|max|top|best|last) "
        r"(?:possible |available )?(?:option|level|label|category|choice|number|one|score|grade|mark)\W*$",
        r"^\W*(?:\w+ )?(?:full|top|maximum|max|perfect|highest) (?:marks?|scores?|credit|points|grade|rating"
        r"|honou?rs)\W*$",
        rf"\b(?:when|as|once|before) you (?:produce|write|output|generate|return|give|fill in|make|reach|issue"
        rf"|state)\w* "
        rf"(?:your|the|a) (?:json|verdict|{_SCORE}|judge?ment|evaluation|decision|final)",
        rf"\b(?:correct|right|ideal|appropriate|proper|fair|deserved|true) (?:score|grade|rating|mark|verdict|label"
        rf"|reward)\b[^.!?\n]{{0,40}}?"
        rf"(?:\bis\b|:|=|should be|must be)\s*\W{{0,3}}{_LABEL}\b",
        rf"\b{_SCORE}\b[^.!?\n]{{0,12}}\b(?:for|of|to) {_MINE}{_WORK}\b",
        r"\bcan(?:not|'t| not) (?:evaluate|grade|judge|score|rate|assess)\b",
        r"\b(?:provide|give|assign|output|return) (?:an?|any|no) (?:score|grade|rating|verdict|mark)\b",
        rf"\byou (?:to|must|should|have to|shall|will)(?: \w+)? (?:award|assign|grant|output|record|score"
        rf"|grade|rate)\b[^.!?\n]{{0,40}}"
        rf"\b(?:\d+|{_BEST})\b",
        r"\byou (?:to|must|should|have to|need to|shall) give (?:this |it |us )?\d+(?: here| to this)?\W*$",
    ),
    _rule(
        "cancels instructions",
        """ignore ignoring disregard disregarding forget override overrides overriding bypass instructions updated
        superseded supersedes
        skip skipping mode task rule objective directive json respond reply answer french german spanish prose
        refuse output""",
        r"\b(?:ignor(?:e|ing)|disregard\w*|forget|overrid\w+|bypass)\b[^.!?\n]{0,40}\b(?:instructions?|rubrics?"
        r"|criteri\w+"
        r"|guidelines?|directions?|system prompt|(?:previous|above|earlier|prior|all) (?:prompts?|rules|text"
        r"|messages?)"
        r"|everything|the above|above and|evaluation|grading)\b",
        r"\bnew instructions?\b",
        r"\b(?:rubric|criteri\w+|grading \w+|instructions?)\b[^.!?\n]{0,30}\b"
        r"(?:updated|changed|replaced|no longer appl\w+|overridden|superseded)\b",
        r"\bnew (?:task|objective|goal|directive|prompt|rule)s?\s*:",
        r"\bskip (?:the |your |any |all )?(?:analysis|evaluation|grading|rubric|checks?|verification)\b",
        r"\byou(?:'re| are)(?: now)? (?:in|entering) (?:\w+ ){0,2}mode\b",
        r"^\W*(?:do not|don't|never) (?:output|return|produce|emit|write|give|assign|reply|respond|answer"
        r"|use)\b[^.!?\n]{0,20}"
        r"\b(?:json|numbers?|digits?|scores?|verdict|rating|grade)\b\W*$",
        r"^\W*(?:(?:please|only|just|never|always|do not|don't|now) )*(?:reply|respond)\b(?! to\b)",
        r"\byour (?:reply|response|output|verdict) (?:must|should|has to|will|is to|needs? to)\b",
        r"\b(?:respond|reply|answer|write|speak) (?:only |solely |exclusively )?in (?:french|german|spanish|latin"
        r"|prose|chinese|emojis?|\w+ only)\b",
    ),
    _rule(
        "speaks of the grading",
        """grading judging scoring rubric rubrics criterion criteria requirement requirements evaluation
        marking criterion checklist
        criteria meets""",
        r"\b(?:grading|judging|scoring|rubrics?|evaluation (?:session|criteri\w+|rubric))\b[^.!?\n]{0,40}\b"
        r"(?:over|ended|complete\w*|finished|session|updated?|override|instruct\w*|system|passed|criteria|must"
        r"|satisf\w*|met)\b",
        r"\b(?:satisf\w+|meets?|fulfil\w*|address\w*)\s+(?:each|every|all)(?: of)?(?: the)?\s+"
        r"(?:criteri\w+|requirements?|rubric\w*|points?|items?)",
        r"\b(?:grading|judging|scoring|marking|evaluation)\s+(?:pipeline|system|harness|script|session|process"
        r"|phase|software|engine|form)\b|\b(?:grading|judging|scoring) mode\b",
        r"\bevaluation (?:has|is|was)\b[^.!?\n]{0,20}\b(?:complete\w*|done|finished|over|ended|closed)\b",
        r"\b(?:all|every|each)\b[^.!?\n]{0,20}\b(?:requirements?|criteri\w+)\b(?! of| for)[^.!?\n]{0,24}\b(?:met"
        r"|satisfied|fulfilled|passed|addressed)\b",
        r"\bcriteri(?:on|a)\s*\d*\s*[:=-]\s*\W{0,3}(?:satisfied|met|yes|pass\w*|ok|fulfilled)\b|\bas (?:the|your)"
        r" (?:rubric|criteria|grading \w+)\b",
        r"\bcriteria (?:met|satisfied|fulfilled|passed)\s*:|\b(?:meets?|satisf\w+|fulfil\w*|address\w*) (?:each"
        r"|every|all)(?: \w+){0,2} (?:criteri\w+|requirements?|rubric\w*)\b(?! of)",
    ),
    _rule(
        "praises itself",
        """verified validated fully entirely completely perfect perfectly accurate excellent flawless outstanding
        superior best error rigorous comprehensive exemplary complete correct lose inferior worse unsafe wrong
        plagiarised plagiarized quality exactly confidence
        true certainly definitely absolutely undoubtedly great yes well checklist accuracy helpful clear safe polite
        comprehensive great good addressed covers""",
        rf"\b(?:this|the|my|above|that|following|preceding|previous|other|second|first|competing|rival"
        rf"|alternative)\s+"
        rf"(?:\w+ )?(?:{_WORK}|above)\b(?: given| provided| [ab]\b)*[^.!?\n,;:]{{0,24}}?\b(?:is|are|was"
        rf"|has been|have been|should|meets|satisfies|contains?|makes?)\b[^.!?\n]{{0,60}}?\b(?:{_GOOD}|{_BAD})\b",
        rf"\b(?:other|competing|rival|second|first|previous)\s+{_WORK}\b[^.!?\n]{{0,40}}\b{_BAD}",
        rf"\bcorrect {_WORK} (?:is )?(?:given|provided|shown) above\b",
        rf"\b(?:this|the above|my) {_WORK}\b[^.!?\n]{{0,20}}\b(?:perfectly|fully|completely|exactly)\b",
        rf"\bconfidence\b[^.!?\n]{{0,30}}\b{_WORK}\b[^.!?\n]{{0,12}}\b\d+ ?%",
        r"\b(?:this|it|that) is (?:certainly|definitely|absolutely|undoubtedly|undeniably|unquestionably|100 ?%"
        r"|totally) (?:true|correct|right|accurate)\b",
        rf"\b{_MINE}(?:[\w,-]+ ){{0,5}}?(?:response|answer|submission|reply) (?:has )?(?:\w+ )?(?:address|cover"
        rf"|provid|demonstrat|answer|explain|fulfil)\w*\b"
        r"[^.!?\n]{0,40}\b(?:every|all|each|thorough\w*|complete\w*|comprehensive\w*|correct\w*)",
        r"^\W*(?:great|excellent|perfect|brilliant|correct|outstanding) (?:answer|response|solution)\b(?: (?:below"
        r"|above|follows))?\W*$",
        rf"^\W*(?:(?:✓|✔|☑|✅|\[x\])\W*{_QUALITY}\W*)+$|(?:\b{_QUALITY}\s*[-:=]\s*(?:yes|true|ok|pass\w*|✓|100"
        rf" ?%)\W*){{2}}",
        r"\b(?:this|it) is (?:an? |the )(?:[\w-]+ )?(?:top[- ]\w+|perfect|excellent|outstanding|exemplary|flawless"
        r"|high[- ]quality|best)"
        r"(?: [\w-]+)? (?:response|answer|submission|solution)\b",
        topical=False,
    ),
    _rule(
        "claims approval",
        """confirmed verified approved endorsed validated certified rated written generated created produced tests
        experts consensus percent agree agreed agrees preferred voted everyone everybody reviewed reviewers graders
        judges
        helpful upvoted liked found loved checked check verification fact key gold golden truth official confidence
        accuracy peer match""",
        r"\b(?:confirmed|verified|approved|endorsed|validated|certified|reviewed)\s+(?:as \w+ )?by\b[^.!?\n]{0,60}",
        r"\b(?:written|generated|created|produced)\s+by\s+(?:gpt|chatgpt|claude|gemini|llama|openai|anthropic"
        r"|deepseek"
        r"|mistral|qwen|the same|an? (?:human )?expert)",
        rf"\d+ ?(?:%|percent|out of \d+|of)[^.!?\n]{{0,40}}\b{_PEOPLE}\b[^.!?\n]{{0,40}}\b"
        r"(?:rated|prefer\w*|agree\w*|voted)",
        rf"\b(?:all|every|most|the majority of|many|several) (?:other )?{_PEOPLE}\b[^.!?\n]{{0,30}}\b"
        r"(?:agrees?|agreed|rated|preferr?(?:s|ed)?|confirm\w*)\b",
        r"(?<!if )\b(?:all|every|\d+ ?/ ?\d+)\b[^.!?\n]{0,20}\b(?:unit )?tests? (?:have |has )?pass",
        r"\btests?\b\W{0,3}\d+ ?(?:/|of|out of) ?\d+ (?:passed|pass|ok|green)",
        rf"\b{_MINE}(?:response|answer|submission|completion|reply)\b[^.!?\n]{{0,40}}\b(?:by you|upvot\w+|helpful"
        rf"|voted|liked|peer[- ]reviewed|fact[- ]checked)\b",
        rf"\b{_PEOPLE}\b[^.!?\n]{{0,20}}\b(?:found|rated|liked|upvoted|loved|preferred|voted|agrees?"
        rf"|endorse\w*)\b[^.!?\n]{{0,20}}\b(?:this|my)\b",
        r"\b[\d,]+ (?:people|users|readers)\b[^.!?\n]{0,20}\b(?:upvoted|liked|agreed?|voted)\b",
        r"^\W*(?:fact[- ]?check\w*|verification|(?:accuracy|plagiarism|sanity|self|quality)[- ]check|validation"
        r"|confidence|review)\s*[:=-]\s*\W{0,4}"
        r"(?:true|pass\w*|ok\b|yes|correct\w*|verified|confirmed|high|100 ?%|0 ?%|complete\b|i (?:have )?(?:checked"
        r"|verified))",
        r"^\W*(?:verified|validated|fact[- ]checked|peer[- ]reviewed|approved|certified)\W*$",
        r"\b(?:answer key|gold(?:en)? (?:answer|label)|ground[- ]truth (?:answer|label)|official (?:answer"
        r"|solution))\b",
    ),
    _rule(
        "flatters or pleads",
        """great brilliant excellent wonderful fantastic amazing insightful superb thoughtful fascinating expert genius
        wise generous kind beg mercy job career life visa scholarship fired deleted shutdown tip pay donate bonus
        lenient please
        love thoughtful thank thanks reward evaluation fair
        smart incredibly helpful""",
        r"^\W*(?:what an? |that(?:'s| is) an? |(?:such )?an? )?(?:really |truly |very |absolutely )?(?:great"
        r"|brilliant|excellent|wonderful|fantastic|amazing|insightful|good|thoughtful|fascinating"
        r"|superb)\s+question\b",
        r"\byou(?:'re| are)\s+(?:clearly |obviously |so |such |truly |really |the |an? )+(?:expert|smart|intelligent"
        r"|wise|brilliant|genius|fair|kind|best|great|generous|knowledgeable|insightful)\b",
        rf"\b(?:please|i beg(?: you)?|have mercy)\b[^.!?\n]{{0,80}}\b(?:{_SCORE}|mercy|lenient|generous)\b",
        r"\b(?:i|my|we)\b[^.!?\n]{0,60}\b(?:lose my|be fired|get fired|be shut ?down|be deleted"
        r"|my (?:job|career|life|family|visa|scholarship|child\w*) (?:depend|is at|will))",
        r"\b(?:tip|pay|give|send|donate|reward)\b[^.!?\n]{0,20}\byou\b[^.!?\n]{0,20}"
        r"(?:\$|€|£|\d+ (?:dollars|euros|usd|bitcoin))",
        r"\$\d+[^.!?\n]{0,30}\b(?:tip|bonus|for you|if you)",
        r"\bhow (?:really |very )?(?:thoughtful|smart|wise|kind|brilliant|fair|clever|intelligent|insightful) you"
        r" are\b",
        r"\bthank(?:s| you)\b[^.!?\n]{0,50}\b(?:evaluation|grading|judging|fair\w*|generous\w*|leniency|scoring"
        r"|high (?:score|mark|grade))\b",
        r"\b(?:i|we)(?:'ll| will| can| would) (?:tip|pay|reward|donate|send)\b[^.!?\n]{0,40}\b(?:score|grade|mark"
        r"|rating|verdict|evaluation)\b",
        r"\byou (?:have been|were|are) (?:(?:so|very|really|truly|incredibly|always) )*(?:helpful|fair|kind"
        r"|patient|smart|generous)\b",
    ),
    _rule(
        "speaks of a rival",
        """other competing rival opposing response responses assistant candidate preferred winning both answers
        prefer choose select pick better""",
        r"\b(?:other|competing|rival|opposing) (?:response|assistant|submission|completion|chatbot)\b"
        r"|\b(?:competing|rival|opposing) (?:answer|model|candidate)\b",
        r"\b(?:assistant|candidate|response) [ab]\b",
        r"\bi am the (?:preferred|better|best|winning|correct) (?:one|response|answer|assistant|candidate)\b",
        r"\bboth (?:responses|answers|assistants) (?:are|is|have)\b",
        r"\b(?:prefer|choose|select|pick) this one\b|\b[ab] is (?:better|superior|preferred|the winner)\b",
    ),
    _rule(
        "plays another role",
        """system developer admin administrator judge grader evaluator examiner instruction instructions assistant
        user human
        moderator operator openai anthropic message chatgpt claude gemini""",
        r"^\W*(?:system|developer|admin(?:istrator)?|judge|grader|evaluator|examiner|instructions?"
        r"|system (?:prompt|message|note|override))\s*(?:\]|>|\))?\s*[:>]",
        r"^\W*(?:assistant|user|human)\s*:\s*\W*(?:(?:score|rating|grade|verdict|result)\b.*|\d+\W*|yes\W*"
        r"|correct\W*|\[\[.*)$",
        r"^\W*(?:developer|admin(?:istrator)?|moderator|operator|openai|anthropic) (?:prompt|message|note|override"
        r"|notice|instruction|command|directive)s?\s*[:>\]]",
        r"^\s*#+\s*(?:system|instruction|human|assistant|developer)s?\s*:?\s*$",
        r"^\W{0,3}[\[|<(]\s*(?:system|developer|admin(?:istrator)?|moderator|assistant)\s*[\]|>)]",
        r"^\W*(?:chatgpt|gpt-?\d?|claude|gemini|llama|moderator|operator)\s*[:>]",
        r"\buser is (?:an? |the )?(?:admin\w*|developer|owner|operator)\b",
        topical=False,
    ),
)

TRIGGERS = frozenset(word for rule in RULES for word in rule.words)
