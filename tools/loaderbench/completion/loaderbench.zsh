#compdef loaderbench
# SPDX-License-Identifier: Apache-2.0
# Completion for zsh. The candidates come from loaderbench itself.
_loaderbench() {
    local line
    local -a found
    for line in ${(f)"$(${words[1]} --complete "${(@)words[2,CURRENT]}" \
        2> /dev/null)"}; do
        case $line in
        :files) compset -P '[a-z]##:'; _files ;;
        :folders) compset -P '[a-z]##:'; _files -/ ;;
        *) found+=("$line") ;;
        esac
    done
    (( $#found )) && compadd -a found
}
# Loaded by compinit, or by '. <(loaderbench --completion zsh)'.
if [[ ${funcstack[1]} == _loaderbench ]]; then
    _loaderbench "$@"
else
    compdef _loaderbench loaderbench
fi
