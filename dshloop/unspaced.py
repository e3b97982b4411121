"""Scripts written without spaces between words: Han, Kana, Hangul, Thai and their like.

Their runs are indexed as overlapping pairs of characters and single characters: no dictionary is at
hand, and a Chinese word is mostly two characters long (choices 4). A question is cut where its
question words and particles stand, so that only what it is about is looked for. Imported by text.py
when a text holds such a script, no sooner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Han with iteration marks, Kana, Bopomofo, Hangul; Thai, Lao, Burmese and Khmer.
SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007"
    "\u3041-\u3096\u3099\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
RUN = re.compile(f"[{SCRIPTS}]+")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff]+")
_KANA = re.compile("[\u3041-\u309f]+")

# Chinese words of asking and the commonest particles; Han question words of Japanese.
_QUESTION_WORDS = re.compile(
    "什么时候|為什麼|为什么|怎么样|怎麼樣|什么|什麼|怎么|怎麼|怎样|如何|多少|"
    "在?哪里|在?哪裡|在?哪儿|哪个|哪個|哪些|在?哪(?![个個些])|"
    "是否|有没有|请问|請問|我们|我們|你们|你們|他们|他們|咱们|何時|何処|何故|何"
    "|(?<!目)的(?!确)|了(?!解)|[吗嗎呢吧啊谁誰]|是(?!否)"
)
# Hiragana that only ties a Japanese sentence together, at the end of a run of Hiragana.
_KANA_ENDING = re.compile(
    "(?:ください|でしょうか|ましょう|ましたか|ました|ませんか|ません|ますか|ます|でしたか|でした|"
    "ですか|です|どのように|どうやって|どうして|どこ|どれ|どの|どう|どんな|いつ|なぜ|なに|なん|だれ|"
    "これ|それ|この|その|している|しています|してい|して|した|する|される|された|され|し|いる|いま|"
    "ある|あり|あった|という|について|ために|ため|から|まで|より|など|こと|もの|って|では|には|とは|"
    "は|が|を|に|へ|で|と|も|の|か|や|ね|よ|だ)+$"
)
_KOREAN_ENDING = re.compile(
    "(?:에서는|에서|에게|한테|으로는|으로|부터|까지|처럼|보다|입니까|입니다|인가요|인지|이란|"
    "하나요|했나요|되나요|합니까|합니다|습니까|나요|"
    "은|는|이|가|을|를|에|의|로|와|과|도|만)$"
)
_KOREAN = """
    언제 언제인가요 어디 어디에 어디서 어디에서 어떻게 무엇 무엇을 무엇이 무엇인가요 무슨 뭐
    뭐예요 왜 누가 누구 누구의 어느 어떤 얼마나 우리 우리는 우리가 우리의 하나요 합니까 했나요
    했습니까 하는 하는가 하는지 있나요 있습니까 있는 있어 인가요 입니까 되나요 됩니까 해요 이 그
    저 및 또는 그리고
"""
_KOREAN_STOP_WORDS = frozenset(_KOREAN.split())


def separated(text: str) -> str:
    """Put blanks around every run, so that it parts from Latin glued to it: SQLite作为记忆存储."""
    return RUN.sub(r" \g<0> ", text)


def characters_and_pairs(run: str) -> Iterator[str]:
    """Yield what is indexed of a run: each character, and each with its neighbour."""
    for at, character in enumerate(run):
        yield character
        if at + 1 < len(run):
            yield run[at : at + 2]


def segments(run: str) -> list[str]:
    """Cut a run of a question where words of asking and particles stand; keep the rest."""
    if _HANGUL.fullmatch(run):
        return [] if run in _KOREAN_STOP_WORDS else [run]
    text = _QUESTION_WORDS.sub(" ", run)
    return _KANA.sub(_without_particles, text).split()


def _without_particles(kana: re.Match[str]) -> str:
    found = _KANA_ENDING.search(kana.group())
    if found is None:
        return kana.group()
    rest = kana.group()[: found.start()]
    stands_alone = kana.start() == 0 or kana.string[kana.start() - 1] == " "
    # One character with nothing before it is no word: おと is a noun, not お and a particle.
    return kana.group() if len(rest) == 1 and stands_alone else rest + " "


def forms(segment: str) -> tuple[str | None, tuple[str, ...]]:
    """Give the whole form of a segment, None when it is longer than a pair, and its parts."""
    if _HANGUL.fullmatch(segment):
        ending = _KOREAN_ENDING.search(segment)
        if ending and ending.start() >= 2:
            segment = segment[: ending.start()]
        elif ending and ending.start() == 1:  # a word and a particle, or one word: both are tried
            return segment, (segment[0],)
    if len(segment) <= 2:
        return segment, ()
    pairs = (segment[at : at + 2] for at in range(len(segment) - 1))
    return None, tuple(dict.fromkeys(pairs))
