"""The bundles that live inside the user's dsh, read from its packages or learned from its dumps."""
