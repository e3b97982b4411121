"""DSH's YAML: js-yaml's JSON schema plus ``!!js``, read and written as DSH itself does."""

from dshloop.dsh_yaml.document import Document, Position
from dshloop.dsh_yaml.dump import dump
from dshloop.dsh_yaml.load import load, load_document
from dshloop.dsh_yaml.stringify import escape_surrogates, stringify, to_json
from dshloop.dsh_yaml.values import JsExpr, Value, identity, order_keys, set_key, truthy

__all__ = [
    "Document",
    "JsExpr",
    "Position",
    "Value",
    "dump",
    "escape_surrogates",
    "identity",
    "load",
    "load_document",
    "order_keys",
    "set_key",
    "stringify",
    "to_json",
    "truthy",
]
