"""Every write of a user's file as one transaction that can be undone.

``Journal(places.journal).transaction("dshloop profile set ...")`` makes changes all or none, also
when the process is killed; `record` does it for a `Plan` that was shown before.
"""

from dshloop.journal.entry import Entry
from dshloop.journal.journal import Journal
from dshloop.journal.pending import Recovered
from dshloop.journal.plan import Change, Plan
from dshloop.journal.state import Content, Link, State, Tree, tree_state
from dshloop.journal.step import Step
from dshloop.journal.transaction import Transaction

__all__ = [
    "Change",
    "Content",
    "Entry",
    "Journal",
    "Link",
    "Plan",
    "Recovered",
    "State",
    "Step",
    "Transaction",
    "Tree",
    "tree_state",
]
