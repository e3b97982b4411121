"""English forms that no rule of suffixes leads back to their word: went, bought, children.

Each group is a word and the forms that are counted as it. Forms that are words of their own
(found, left, saw, felt, ground, leaves, better) stay what they are.
"""

from __future__ import annotations

_GROUPS = """
    arise arose arisen; awake awoke awoken; bear borne; beat beaten; become became; begin began
    begun; bend bent; bleed bled; blow blew blown; break broke broken; breed bred; bring brought;
    build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came;
    creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove
    driven; eat ate eaten; fall fallen; feed fed; fight fought; flee fled; fling flung; fly flew
    flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze
    frozen; get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; hear
    heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led;
    leap leapt; learn learnt; lend lent; lie lain; lose lost; make made; mean meant; meet met; pay
    paid; ride rode ridden; ring rang rung; rise risen; run ran; say said; see seen; seek sought;
    sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank
    shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoken; speed
    sped; spend spent; spin spun; spring sprang sprung; stand stood; steal stole stolen; stick
    stuck; sting stung; strike struck; strive strove striven; swear swore sworn; sweep swept; swim
    swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; throw threw
    thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; weep wept; win
    won; wring wrung; write wrote written;
    child children; man men; woman women; foot feet; tooth teeth; goose geese; mouse mice; wife
    wives; knife knives; half halves; shelf shelves; wolf wolves; index indices; matrix matrices;
    vertex vertices; criterion criteria; analysis analyses; crisis crises
"""


def _bases() -> dict[str, str]:
    groups = (group.split() for group in _GROUPS.split(";"))
    return {form: base for base, *forms in groups for form in forms}


BASES = _bases()
"""The word that each form is counted as."""
