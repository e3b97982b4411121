"""`python -m dshloop`."""

import sys

from dshloop.entry import main

if __name__ == "__main__":
    sys.exit(main())
