# dshloop completion for fish: put this file into ~/.config/fish/completions/
function __dshloop_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (env _DSHLOOP_COMPLETE=fish $words 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c dshloop -f -a "(__dshloop_complete)"
