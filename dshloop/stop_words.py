"""English words that say how something is asked, not what about (unspaced.py has the others')."""

from __future__ import annotations

_WORDS = """
    a about am an and any are aren't as at be because been being but by can can't cannot could
    couldn't did didn't do does doesn't doing don't for from had hadn't has hasn't have haven't
    having he he's her here hers him his how how's i i'd i'll i'm i've if in into is isn't it it's
    its itself just let's me mine my myself of on or our ours please shall she she's should
    shouldn't so some such than that that's the their theirs them then there there's these they
    they'd they'll they're they've this those to too us very was wasn't we we'd we'll we're we've
    were weren't what what's when when's where where's which while who who's whom whose why why's
    will with won't would wouldn't you you'd you'll you're you've your yours
"""
STOP_WORDS = frozenset(_WORDS.split())
