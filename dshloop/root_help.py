"""The root help, rendered ahead for terminals of 80 columns and wider (see cli/generated.py)."""

TEXT = """\
Usage: dshloop [OPTIONS] COMMAND [ARGS]...

  The command line for DeepSeek Harness (DSH) profiles, agent loops, sessions
  and memory.

  A community tool, not an official DeepSeek project.

Commands:
  profile   Show, edit, check and mend DSH profiles.
  plugin    Add, update, switch and remove the plugins of a profile.
  session   Run, look at, mend, copy and keep sessions.
  loop      List, explain, check, route, write and try agent loops.
  driver    List, choose and register the drivers that run loops.
  agent     List, add, start and team up the agents of a profile.
  provider  List and try the model providers that sessions ask.
  memory    Remember, recall and manage memories.
  history   List the changes made by dshloop.
  undo      Take back a change, byte for byte.
  redo      Make an undone change again.
  config    Read and change dshloop's own settings.
  doctor    Check versions, folders and the programs found.

Options:
  --version  Show the version.

Common options:
  --json          Print the result as JSON.
  --quiet         Print no notices.
  --verbose       Print more about what happens.
  --no-color      Use no colours (also: NO_COLOR).
  --home DIR      DSH's home instead of $DSH_HOME or ~/.dsh.
  --data-dir DIR  Our data folder instead of $DSHLOOP_DATA.
  -h, --help      Show this text.

  Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 a peer
  could not be reached.
"""
