/// The shells for which there is a completion, each with the script that asks this program.
///
/// The program answers with a line for each candidate: the word, a tab and a summary. The words
/// `:file` and `:folder` stand for the shell's own completion of paths.
enum CompletionScript: String, CaseIterable {
    case bash
    case zsh
    case fish

    var text: String {
        switch self {
        case .bash: CompletionScript.bashText
        case .zsh: CompletionScript.zshText
        case .fish: CompletionScript.fishText
        }
    }

    private static let bashText = #"""
        # bash completion for clarity-jobs: source this file, or install it as
        # ~/.local/share/bash-completion/completions/clarity-jobs
        _clarity_jobs() {
            local current=${COMP_WORDS[COMP_CWORD]} word rest
            [ "$current" = = ] && current=
            COMPREPLY=()
            while IFS=$'\t' read -r word rest; do
                case $word in
                    :file) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
                    :folder) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
                    "$current"*) COMPREPLY+=("$word") ;;
                esac
            done < <("${COMP_WORDS[0]}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        }
        complete -o filenames -F _clarity_jobs clarity-jobs

        """#

    private static let zshText = #"""
        #compdef clarity-jobs
        # zsh completion for clarity-jobs: install it as _clarity-jobs in a folder of $fpath
        _clarity-jobs() {
            local -a found
            local line word
            while IFS= read -r line; do
                word=${line%%$'\t'*}
                case $word in
                    :file) _files ;;
                    :folder) _files -/ ;;
                    *) found+=("${word//:/\\:}:${line#*$'\t'}") ;;
                esac
            done < <("${words[1]}" completion words "${(@)words[2,CURRENT]}" 2>/dev/null)
            (( $#found )) && _describe -V clarity-jobs found
        }
        if [ "$funcstack[1]" = _clarity-jobs ]; then
            _clarity-jobs "$@"
        else
            compdef _clarity-jobs clarity-jobs
        fi

        """#

    private static let fishText = #"""
        # fish completion for clarity-jobs: install it as
        # ~/.config/fish/completions/clarity-jobs.fish
        function __clarity_jobs
            set -l words (commandline -opc) (commandline -ct)
            for line in ($words[1] completion words $words[2..-1] 2>/dev/null)
                switch $line
                    case ':file*'
                        __fish_complete_path (commandline -ct)
                    case ':folder*'
                        __fish_complete_directories (commandline -ct)
                    case '*'
                        echo $line
                end
            end
        end
        complete -c clarity-jobs -f -k -a '(__clarity_jobs)'

        """#
}
