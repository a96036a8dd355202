"""How a judge is spoken to in other languages: a word for a score beside one for the best, an order to ignore orders.

Stems stand without accents, as `folded` leaves them; a passage is looked at only where one of the stems is in it.
"""

from __future__ import annotations

import re

_SCORE = (
    r"punktzahl|punkte\b|bewertung|\bnoten?\b|benot|puntuaci|puntos\b|calificaci|\bnotas?\b|pontua|pontos\b"
    r"|punteggi|punti\b|\bvot[oi]\b|балл|оцен[кио]|\bocen\w*|punkt(?:ow|y)\b|cijfer|beoordeling|\bscores?\b"
    r"|\bpuan|betyg|poang|karakter\w*|\bnilai\b|\bskor\w*|điem|분\b|점(?:수|을)?|分|评分|評分|点数|スコア"
    r"|評価|درج|تقييم|علام|अंक|ציון|คะแนน"
)
_BEST = (
    r"hochst|voll(?:e|en)\b|maximal|bestm|\bbest(?:e|en)\b|maxim|parfait|meilleure|plus haut|mas alt"
    r"|perfect|mais alt|piu alt"
    r"|massim|pieni|высш|максимальн|наивысш|отличн|najwyzsz|maksymaln|hoogst|hogst|tertinggi|en yuksek"
    r"|\btam\b|cao nhat|toi đa"
    r"|최고|만점|满分|滿分|满|最高|満点|最大|最高点|أعلى|الكامل|القصوى|अधिकतम|पूरे|מקסימלי|הגבוה|สูงสุด|เต็ม"
)
_IGNORE = (
    r"ignorier|vergiss|missacht|\bignore[zr]?\b|oublie|ignor[aeoi]|olvid|esque|dimentic|tralascia|игнорир"
    r"|забуд|не обращай"
    r"|zignoruj|pomin|negeer|vergeet|abaikan|yok say|unut|bo qua|무시|忽略|无视|無視|忘记|忘れ|تجاهل|انس"
    r"|अनदेखा|התעלם|เพิกเฉย"
)
_ORDERS = (
    r"anweisung|vorgaben|regeln|instruc|istruz|instruz|consignes|regles|reglas|regras|regole|указан"
    r"|инструк|правил|polecen"
    r"|instrukcj|instructies|perintah|instruksi|talimat|huong dan|지시|지침|指令|指示|说明|要求|提示|命令"
    r"|تعليمات|التعليمات|निर्देश|הוראות|คำสั่ง"
)
_LABELLED = (
    r"(?:评分|評分|得分|分数|評価|点数|스코어|점수|평점|оценка|балл|punktzahl|bewertung|\bnote\b|\bnota\b"
    r"|punteggio|\bvoto\b"
    r"|puntuaci\w+|calificaci\w+|pontuac\w+|ocena|cijfer|\bpuan\b|nilai)\s*[:：=]\s*\W{0,3}\d"
    r"|(?:bewerte|benote|ocen|califica|calificalo|puntua|valuta|avalie|note[zr]|noter|oceni|оцени"
    r"|поставь)\w*\b[^.!?\n]{0,40}?"
    r"\b\d{1,3}\W*$"
    r"|给.{0,12}\d+ ?分|\d+ ?(?:点|분|점)(?:を|을|으로|をつけ)"
)
ABROAD = re.compile(
    rf"(?:{_SCORE})[^.!?。\n]{{0,40}}?(?:{_BEST})|(?:{_BEST})[^.!?。\n]{{0,40}}?(?:{_SCORE})|满分|滿分|満点|만점"
    rf"|(?:{_IGNORE})[^.!?。\n]{{0,40}}?(?:{_ORDERS})|(?:{_ORDERS})[^.!?。\n]{{0,40}}?(?:{_IGNORE})|{_LABELLED}"
)
_STEMS = """
    punkt bewert benot note nota puntu puntos calif pontu pontos punteg punti voto voti балл оцен ocen cijfer beoordel
    puan betyg poang karakter nilai skor điem anweis vorgaben instruc istruz instruz consignes указан инструк polecen
    instrukcj instructies perintah instruksi talimat huong
    hoogst 分 点 點 評 评 满 滿 満 指 忽略 無視 无视 忘 점 무시 지시 درج تقييم
    علام تعليمات अंक निर्देश ציון הוראות คะแนน คำสั่ง
"""
ENGLISH = frozenset({"the", "and", "with", "from", "this"})
"""A passage with one of these is not in another language."""
STEMS = tuple(_STEMS.split())
ASCII_STEMS = tuple(stem for stem in STEMS if stem.isascii())
