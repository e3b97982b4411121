"""The root help, rendered ahead for terminals of 80 columns and wider (see cli/generated.py)."""

TEXT = ""
