"""What authors of loops are helped with: a package to begin with, and a kit that tries a loop."""
