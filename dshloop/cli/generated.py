"""Writes what is made from the code: root help, completions, docs/errors.md, docs/checks.md.

``python -m dshloop.cli.generated ROOT`` writes them into a checkout; a test holds them current.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from dshloop.cli.app import call
from dshloop.cli.invocation import Invocation
from dshloop.environment import Environment
from dshloop.errors import ExitCode, every_error
from dshloop.result import Result

BASH = """\
# dshloop completion for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/dshloop
_dshloop() {
    local IFS=$'\\n' line
    COMPREPLY=()
    for line in $(_DSHLOOP_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
        COMPREPLY+=("${line%%$'\\t'*}")
    done
}
complete -o default -F _dshloop dshloop
"""

ZSH = """\
#compdef dshloop
# dshloop completion for zsh: put this file as _dshloop into a folder of $fpath
_dshloop() {
    local line value help
    local -a found
    for line in ${(f)"$(_DSHLOOP_COMPLETE=zsh $words[1] "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        value=${line%%$'\\t'*}
        help=${line#*$'\\t'}
        found+=("${value//:/\\\\:}:$help")
    done
    if (( $#found )); then
        _describe -V dshloop found
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _dshloop "$@"
else
    compdef _dshloop dshloop
fi
"""

FISH = """\
# dshloop completion for fish: put this file into ~/.config/fish/completions/
function __dshloop_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (env _DSHLOOP_COMPLETE=fish $words 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c dshloop -f -a "(__dshloop_complete)"
"""

SCRIPTS = {"dshloop.bash": BASH, "_dshloop": ZSH, "dshloop.fish": FISH}

ERRORS_HEAD = """\
# Errors

Made from dshloop/errors/. With `--json` an error is one line on stderr,
`{"error": {"code", "message", "hint", "details"}}`; the codes are stable."""

CHECKS_HEAD = """\
# Findings of `dshloop profile check`

Made from dshloop/profiles/checks/kinds.py; the codes are stable. *Mends* says what
`dshloop profile repair` can do about it: what is safe is also done by `profile check --fix`.
A second severity is that for users of dsh 0.1.2.

| code | severity | when | what to do | mends |
|---|---|---|---|---|"""

HELP_MODULE = '''\
"""The root help, rendered ahead for terminals of 80 columns and wider (see cli/generated.py)."""

TEXT = """\\
{text}"""
'''


def root_help() -> str:
    """Render the root help as a terminal of 80 columns sees it."""
    nothing = io.StringIO()
    env = Environment(nothing, nothing, nothing, {"COLUMNS": "80"}, Path("/"))
    answer = call(Invocation(env, words=("--help",)))
    assert isinstance(answer, Result)
    return f"{answer.view}\n"


def errors_page() -> str:
    """Render docs/errors.md from the error classes: one section an exit code, one row a code."""
    rows: dict[ExitCode, list[str]] = {}
    for kind in every_error():
        if not kind.__subclasses__():
            meaning = " ".join((kind.__doc__ or "").split())
            rows.setdefault(kind.exit_code, []).append(
                f"| `{kind.code}` | {meaning} | {kind.hint or ''} |"
            )
    page = [ERRORS_HEAD]
    for code in sorted(rows):
        page.append(f"\n## Exit code {int(code)}: {code.name.lower().replace('_', ' ')}\n")
        page.append("| code | when | what to do |\n|---|---|---|")
        page.extend(sorted(rows[code]))
    return "\n".join(page) + "\n"


def checks_page() -> str:
    """Render docs/checks.md from the kinds of findings, one row a code."""
    from dshloop.profiles.checks.kinds import every_kind

    rows = []
    for kind in every_kind():
        older = f", {kind.severity_012} on 0.1.2" if kind.severity_012 else ""
        when, fix = (text.replace("|", "\\|") for text in (kind.when, kind.fix))
        mends = {"": "", "safe": "yes", "repair": "when asked"}[kind.mends]
        rows.append(f"| `{kind.code}` | {kind.severity}{older} | {when} | {fix} | {mends} |")
    return "\n".join([CHECKS_HEAD, *rows]) + "\n"


def files() -> dict[str, str]:
    """Give path (from the root of a checkout) and text of every generated file."""
    made = {
        "dshloop/root_help.py": HELP_MODULE.format(text=root_help()),
        "docs/errors.md": errors_page(),
        "docs/checks.md": checks_page(),
    }
    made.update({f"completions/{name}": text for name, text in SCRIPTS.items()})
    return made


def write(root: Path) -> None:
    """Write every generated file under `root`."""
    for name, text in files().items():
        (root / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
