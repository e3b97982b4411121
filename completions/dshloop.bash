# dshloop completion for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/dshloop
_dshloop() {
    local IFS=$'\n' line
    COMPREPLY=()
    for line in $(_DSHLOOP_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
        COMPREPLY+=("${line%%$'\t'*}")
    done
}
complete -o default -F _dshloop dshloop
