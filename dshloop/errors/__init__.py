"""Everything that dshloop raises on purpose.

::

    DshloopError
    ├── UsageError              2  the command line itself is wrong
    ├── FailedError             1  the work was tried and failed
    ├── NotFoundError           3  the thing named is not there
    ├── RefusedError            4  refused; nothing was changed
    ├── PeerUnreachableError    5  a program or server could not be reached
    └── InterruptedByUserError  130

Each leaf is one kind of fault with a stable ``code``; its docstring says when it is raised and
its ``hint`` what to do next. docs/errors.md is made from them. Packages with many faults of
their own (YAML, transcripts) keep them here too, so that a code is never given twice.
"""

# ruff: noqa: F403 - the whole tree under one name
from dshloop.errors.base import *
from dshloop.errors.engines import *
from dshloop.errors.files import *
from dshloop.errors.host import *
from dshloop.errors.llm import *
from dshloop.errors.loops import *
from dshloop.errors.memory import *
from dshloop.errors.peers import *
from dshloop.errors.profiles import *
from dshloop.errors.sessions import *
