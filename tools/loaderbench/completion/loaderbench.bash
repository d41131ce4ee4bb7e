# SPDX-License-Identifier: Apache-2.0
# Completion for bash. The candidates come from loaderbench itself.
_loaderbench() {
    local cur=${COMP_WORDS[COMP_CWORD]} line path
    COMPREPLY=()
    while IFS= read -r line; do
        [[ $cur == [:=] ]] && cur=
        case $line in
        :files | :folders)
            compopt -o filenames 2> /dev/null
            while IFS= read -r path; do
                COMPREPLY+=("$path")
            done < <(compgen "$([[ $line == :files ]] && echo -f || echo -d)" \
                -- "$cur")
            ;;
        *) COMPREPLY+=("$line") ;;
        esac
    done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" \
        2> /dev/null)
    return 0
}
complete -F _loaderbench loaderbench
