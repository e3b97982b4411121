"""Byte-preserving edits of YAML files: only the bytes of what is edited change.

`YamlText` edits at any path. It works on the offsets of the parsed text, never by dumping it
again, so comments, quotes, blank lines, line ends and a byte order mark stay as they are.
`set_value` and `unset_value` are its short forms for files of settings.
"""

from dshloop.splice.change import Edit
from dshloop.splice.document import YamlText
from dshloop.splice.same import same
from dshloop.splice.settings import set_value, unset_value

__all__ = ["Edit", "YamlText", "same", "set_value", "unset_value"]
