"""Sessions as pages and files for others: Markdown, HTML, JSON lines, dsh's own format."""
