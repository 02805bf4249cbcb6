# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Completes dkctl's words in fish. "dkctl __complete" prints the candidates and their meaning.

function __dkctl_complete
    set -l words (commandline -opc)
    set -l tool (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l token (commandline -ct)
    # remove a quote that is still open
    set -l plain (string replace -r '^["\']' '' -- $token | string unescape)
    for line in ($tool __complete -- $words "$plain" 2>/dev/null </dev/null)
        switch $line
            case ':files'
                set -l option (string match -r '^--[a-z]+=' -- "$token")
                set -l path (string replace -- "$option" '' "$token")
                for path in (complete -C "__fish_command_without_completions -- $path")
                    printf '%s%s\n' "$option" $path
                end
            case ':*'
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c dkctl -f -a '(__dkctl_complete)'
