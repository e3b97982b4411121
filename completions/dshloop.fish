# dshloop completion for fish: put this file into ~/.config/fish/completions/
function __dshloop_complete
    set -l words (commandline -opc) (commandline -ct)
    env _DSHLOOP_COMPLETE=fish $words 2>/dev/null
end
complete -c dshloop -a "(__dshloop_complete)"
