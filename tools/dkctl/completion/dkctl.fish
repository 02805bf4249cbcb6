# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Completes dkctl's words in fish. "dkctl __complete" prints the candidates and their meaning.

function __dkctl_complete
    set -l words (commandline -opc)
    set -l tool $words[1]
    set -e words[1]
    # remove a quote that is still open
    set -l token (commandline -ct | string replace -r '^["\']' '')
    for line in ($tool __complete -- $words "$token" 2>/dev/null </dev/null)
        switch $line
            case ':files'
                set -l option (string match -r '^--[a-z]+=' -- "$token")
                for path in (__fish_complete_path (string replace -- "$option" '' "$token"))
                    printf '%s%s\n' "$option" $path
                end
            case ':*'
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c dkctl -f -a '(__dkctl_complete)'
