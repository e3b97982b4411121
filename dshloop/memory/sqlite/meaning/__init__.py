"""Recall by meaning: vectors beside the rows, nearness, and how it joins the words."""
