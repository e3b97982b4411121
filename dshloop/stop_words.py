"""Words that say how something is asked, not what about; questions are searched without them."""

from __future__ import annotations

import re

_ENGLISH = """
    a about am an and any are aren't as at be because been being but by can can't cannot could
    couldn't did didn't do does doesn't doing don't for from had hadn't has hasn't have haven't
    having he he's her here hers him his how how's i i'd i'll i'm i've if in into is isn't it it's
    its itself just let's me mine my myself of on or our ours please shall she she's should
    shouldn't so some such than that that's the their theirs them then there there's these they
    they'd they'll they're they've this those to too us very was wasn't we we'd we'll we're we've
    were weren't what what's when when's where where's which while who who's whom whose why why's
    will with won't would wouldn't you you'd you'll you're you've your yours
"""
_KOREAN = """
    언제 언제인가요 어디 어디에 어디서 어디에서 어떻게 무엇 무엇을 무엇이 무엇인가요 무슨 뭐
    뭐예요 왜 누가 누구 누구의 어느 어떤 얼마나 우리 우리는 우리가 우리의 하나요 합니까 했나요
    했습니까 하는 하는가 하는지 있나요 있습니까 있는 있어 인가요 입니까 되나요 됩니까 해요 이 그
    저 및 또는 그리고
"""
STOP_WORDS = frozenset(_ENGLISH.split() + _KOREAN.split())

# Chinese words of asking and the commonest particles; Han question words of Japanese.
CJK_QUESTION_WORDS = re.compile(
    "什么时候|為什麼|为什么|怎么样|怎麼樣|什么|什麼|怎么|怎麼|怎样|如何|多少|在?哪里|在?哪裡|在?哪儿|在?哪(?![个個些])|哪个|哪個|哪些|"
    "是否|有没有|请问|請問|我们|我們|你们|你們|他们|他們|咱们|何時|何処|何故|何"
    "|(?<!目)的(?!确)|了(?!解)|[吗嗎呢吧啊谁誰]|是(?!否)"
)

_PARTICLES = (
    "ください|でしょうか|ましょう|ましたか|ました|ませんか|ません|ますか|ます|でしたか|でした|ですか|です|"
    "どのように|どうやって|どうして|どこ|どれ|どの|どう|どんな|いつ|なぜ|なに|なん|だれ|これ|それ|この|その|"
    "している|しています|してい|して|した|する|される|された|され|し|いる|いま|ある|あり|あった|"
    "という|について|ために|ため|から|まで|より|など|こと|もの|って|では|には|とは|"
    "は|が|を|に|へ|で|と|も|の|か|や|ね|よ|だ"
)
# Hiragana that only ties a Japanese sentence together, at the end of a run of Hiragana.
KANA_ENDING = re.compile(f"(?:{_PARTICLES})+$")

KOREAN_ENDING = re.compile(
    "(?:에서는|에서|에게|한테|으로는|으로|부터|까지|처럼|보다|입니까|입니다|인가요|인지|이란|"
    "은|는|이|가|을|를|에|의|로|와|과|도|만)$"
)
