"""Tools for files and commands of a session's workspace: the row `dshloop/workspace-tools`."""
