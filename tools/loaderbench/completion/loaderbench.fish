# SPDX-License-Identifier: Apache-2.0
# Completion for fish. The candidates come from loaderbench itself.
function __loaderbench_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l tool $words[1]
    set -e words[1]
    for line in ($tool --complete $words "$typed" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$typed"
            case :folders
                __fish_complete_directories "$typed" ''
            case '*'
                echo $line
        end
    end
end
complete -c loaderbench -f -a '(__loaderbench_complete)'
