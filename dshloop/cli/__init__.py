"""The command line: parse, call one library function, return its Result. Only output.py prints."""
