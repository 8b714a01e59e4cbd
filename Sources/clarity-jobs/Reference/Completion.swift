/// Finds what may come next on a command line, for the completion of a shell.
struct Completion {
    /// A word that may come next, and what it is.
    struct Candidate: Equatable {
        var word: String
        var summary = ""
    }

    /// What the last word of a command line may be.
    struct Expectation: Equatable {
        /// Commands, options and fixed choices.
        var candidates: [Candidate] = []
        /// The names of values whose candidates depend on this machine: `JOB`, `RUN`, `FILE`.
        var values: [String] = []
    }

    /// What the words before the last say: the commands, and the options with their values.
    private(set) var arguments = Arguments()
    private(set) var expectation = Expectation()

    /// - Parameter words: the words after the program's name; the last is the one to complete, and
    ///   may be empty. A shell that breaks words at `=` passes that as a word of its own.
    init(_ words: [String], of root: CommandSyntax) {
        var words = words.last == "=" ? words + [""] : words
        let last = words.popLast() ?? ""
        var command = root
        var scope = root.options
        var option: OptionSyntax?
        var areOptionsOver = false
        for word in words where word != "=" {
            if let waiting = option {
                arguments.values[waiting.name] = word
                option = nil
            } else if word == "--" {
                areOptionsOver = true
            } else if !areOptionsOver, word.hasPrefix("-"), word != "-" {
                option = open(word, in: scope)
            } else if !areOptionsOver, arguments.operands.isEmpty,
                let next = command.commands.first(where: { $0.name == word })
            {
                command = next
                scope =
                    next.options
                    + scope.filter { known in
                        !next.options.contains { $0.name == known.name }
                    }
                arguments.path.append(word)
            } else {
                arguments.operands.append(word)
            }
        }
        if let option {
            expectation = .init(option)
        } else if !areOptionsOver, last.hasPrefix("--"), let equals = last.firstIndex(of: "="),
            let option = scope.first(where: { "--\($0.name)" == last[..<equals] })
        {
            expectation = .init(option)
            for index in expectation.candidates.indices {
                expectation.candidates[index].word.insert(
                    contentsOf: last[...equals], at: last.startIndex)
            }
        } else if !areOptionsOver, last.hasPrefix("-") {
            expectation.candidates = scope.map { .init(word: "--\($0.name)", summary: $0.summary) }
        } else {
            if arguments.operands.isEmpty {
                expectation.candidates = command.commands.map {
                    .init(word: $0.name, summary: $0.summary)
                }
            }
            expectation.values = command.operandNames
        }
        expectation.candidates.removeAll { !$0.word.hasPrefix(last) }
    }

    /// Records an option; returns it if its value is the next word.
    private mutating func open(_ word: String, in scope: [OptionSyntax]) -> OptionSyntax? {
        if word.hasPrefix("--") {
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1)
            guard let option = scope.first(where: { $0.name == parts.first ?? "" }) else {
                return nil
            }
            guard option.value != nil, parts.count < 2 else {
                if parts.count == 2 { arguments.values[option.name] = String(parts[1]) }
                return nil
            }
            return option
        }
        // The last of several letters may be followed by its value, in this word or the next.
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = scope.first(where: { $0.letter == letter }) else { return nil }
            guard option.value != nil else { continue }
            if letters.isEmpty { return option }
            arguments.values[option.name] = String(letters)
            return nil
        }
        return nil
    }
}

extension Completion.Expectation {
    fileprivate init(_ option: OptionSyntax) {
        candidates = option.choices.map { .init(word: $0) }
        values = option.choices.isEmpty ? [option.value].compactMap(\.self) : []
    }
}

extension CommandSyntax {
    /// The names of the values that an operand may be: `RUN` and `JOB` for `RUN|JOB...`.
    fileprivate var operandNames: [String] {
        (operands ?? "").split { !$0.isLetter }.map(String.init)
    }
}

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
