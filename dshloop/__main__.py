"""`python -m dshloop`."""

from dshloop.entry import script

if __name__ == "__main__":
    script()
