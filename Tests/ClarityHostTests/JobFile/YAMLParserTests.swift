import Testing

@testable import ClarityHost

@Suite struct YAMLParserTests {
    private func fault(_ bytes: [UInt8]) -> String? {
        do throws(JobFileFault) {
            _ = try YAMLParser.parse(bytes)
            return nil
        } catch {
            return error.text(path: "f")
        }
    }

    private func fault(_ text: String) -> String? { fault(Array(text.utf8)) }

    @Test func `a tree has every node's and key's position`() throws {
        let text = "\u{FEFF}# é\r\nå: 'ö'\r\nlist:\n- é: x\n  \"k\": {a: ~}\n- |\n  two\n  lines\n"

        let root = try YAMLParser.parse(Array(text.utf8)).root

        func at(_ line: Int, _ column: Int, _ content: YAMLNode.Content) -> YAMLNode {
            YAMLNode(
                position: YAMLNode.Position(line: line, column: column), content: content)
        }
        func entry(_ key: String, _ line: Int, _ column: Int, _ value: YAMLNode) -> YAMLNode.Entry {
            YAMLNode.Entry(
                key: key, keyPosition: YAMLNode.Position(line: line, column: column, isKey: true),
                value: value)
        }
        let inner = at(5, 8, .mapping([entry("a", 5, 9, at(5, 12, .scalar("~", isPlain: true)))]))
        let first = at(
            4, 3,
            .mapping([
                entry("é", 4, 3, at(4, 6, .scalar("x", isPlain: true))), entry("k", 5, 3, inner),
            ]))
        let second = at(6, 3, .scalar("two\nlines\n", isPlain: false))
        #expect(
            root
                == at(
                    2, 1,
                    .mapping([
                        entry("å", 2, 1, at(2, 4, .scalar("ö", isPlain: false))),
                        entry("list", 3, 1, at(4, 1, .sequence([first, second]))),
                    ])))
    }

    @Test func `a byte order mark before the first key is no part of it`() throws {
        let root = try YAMLParser.parse(Array("\u{FEFF}version: 1\njobs: []\n".utf8)).root

        #expect(root["version"]?.text == "1" && root["jobs"] != nil)
    }

    @Test func `curly quotes are no quotes, and are called that`() {
        #expect(
            fault("a: [“/bin/true”]")
                == "f:1:5: `“/bin/true”` begins with a curly quote, wanted a straight one")
        #expect(fault("a: \"“said”\"") == nil)
    }

    @Test func `a key that is there twice keeps its first value and is told`() throws {
        let document = try YAMLParser.parse(Array("a: 1\nb: {c: 2, c: 3}\na: 4\n".utf8))

        #expect(document.root["a"]?.text == "1")
        #expect(document.root["b"]?["c"]?.text == "2")
        #expect(
            document.duplicateKeys.map { $0.text(path: "f") } == [
                "f:2:11: duplicate key `c`; first at line 2",
                "f:3:1: duplicate key `a`; first at line 1",
            ])
    }

    @Test func `two jobs in one entry are one fault`() throws {
        let text = "jobs:\n  - id: a\n    kind: b\n\n    id: c\n    kind: d\n"

        let faults = try YAMLParser.parse(Array(text.utf8)).duplicateKeys

        #expect(
            faults.map { $0.text(path: "f") } == [
                "f:5:5: duplicate key `id`; first at line 2\nhelp: start each job with `- id:`"
            ])
    }

    @Test(arguments: [
        ("a: &x 1", "f:1:4: anchors (`&`) are not allowed in a job file"),
        ("&x a: 1", "f:1:1: anchors (`&`) are not allowed in a job file"),
        ("a: &x [1]", "f:1:4: anchors (`&`) are not allowed in a job file"),
        ("a: &x {b: 1}", "f:1:4: anchors (`&`) are not allowed in a job file"),
        ("a: *x", "f:1:4: aliases (`*`) are not allowed in a job file"),
        (
            "a: *",
            """
            f:1:5: anchors (`&`) and aliases (`*`) are not allowed in a job file
            help: quote text that starts with `&` or `*`
            """
        ),
        ("a: !!str 1", "f:1:4: tags (`!`) are not allowed in a job file"),
        ("a: !x [1]", "f:1:4: tags (`!`) are not allowed in a job file"),
        ("a: !x!y 1", "f:1:4: tags (`!`) are not allowed in a job file"),
        ("a: ! 1", "f:1:4: tags (`!`) are not allowed in a job file"),
        ("? [a]\n: 1", "f:1:3: a key must be text"),
        ("~: 1", "f:1:1: a key must be text"),
        (
            "a: 1\n---\nb: 2",
            """
            f:2:1: a second document starts here, wanted one
            help: remove the `---` between them
            """
        ),
        ("a: \"\\0\"", "f:1:4: the escape `\\0` is not allowed in a job file"),
        ("a: b\nc\n", "f:2:1: this key has no `:`"),
        (
            "a: @b",
            """
            f:1:4: nothing can start with this character
            help: indent with spaces, not tabs, and quote text that starts with `@` or a backtick
            """
        ),
        (
            "a:\n\tb: 1",
            """
            f:2:1: nothing can start with this character
            help: indent with spaces, not tabs, and quote text that starts with `@` or a backtick
            """
        ),
        (
            "a: |\n\tb",
            """
            f:2:1: a tab cannot indent
            help: use spaces
            """
        ),
        (
            "a: b: c",
            """
            f:1:5: a `:` cannot stand here
            help: start each key on a line of its own and quote text that holds `: `
            """
        ),
        (
            "a: - b",
            """
            f:1:4: a list entry (`-`) cannot stand here
            help: start the list on a line of its own
            """
        ),
        ("a: ? b", "f:1:4: a key (`?`) cannot stand here"),
        (
            "a:\n  b: 1\n c: 2",
            """
            f:3:2: the indentation here fits no mapping
            help: keys of one mapping start in the same column
            """
        ),
        (
            "- a\nb: 1",
            """
            f:2:1: the indentation here fits no list
            help: entries of one list start in the same column
            """
        ),
        ("a: [b\nc: 1\nd: 2", "f:1:4: the list that starts here lacks a `,` or its `]`"),
        ("a: {b: 1\nc\nd", "f:1:4: the mapping that starts here lacks a `,` or its `}`"),
        ("a: 'b\n", "f:1:4: the quote that starts here is never closed"),
        ("a: \"b\n---\n", "f:1:4: the quote that starts here is never closed"),
        (
            "a: \"b\nc: \"d\"\n",
            """
            f:1:4: the quote that starts here is not closed before line 2
            help: close it where its text ends
            """
        ),
        (
            "a: [\"b]\n\nc: [\"d\"]\n",
            """
            f:1:5: the quote that starts here is not closed before line 3
            help: close it where its text ends
            """
        ),
        (
            "a: [\"b\n  c\"] d",
            """
            f:2:7: the indentation here fits no mapping
            help: keys of one mapping start in the same column
            """
        ),
        (
            "a: 1\nkind:command\nc: 2",
            """
            f:2:1: `kind:` has no space after its `:`
            help: put a space after `:`
            """
        ),
        (
            "a: 1\r\nkind:\u{A0}command\r\nc: 2\r\n",
            """
            f:2:1: `kind:` has no space after its `:`
            help: put a space after `:`, in place of the no-break space
            """
        ),
        (
            "- id:a\n  kind: b",
            """
            f:2:7: a `:` cannot stand here
            help: put a space after `:` in line 1
            """
        ),
        (
            "a: b\n c: d",
            """
            f:2:3: a `:` cannot stand here
            help: keys of one mapping start in the same column
            """
        ),
        (
            "jobs:\n  - id: a\n   kind: b\n",
            """
            f:3:4: the indentation here fits no mapping
            help: the keys of one job start in the same column
            """
        ),
        (
            "sources:\n  - kind: a\n   path: b\n",
            """
            f:3:4: the indentation here fits no mapping
            help: the keys of one entry start in the same column
            """
        ),
        (
            "a: \"\\q\"",
            """
            f:1:5: this escape is unknown
            help: write `\\\\` for a backslash, or use single quotes
            """
        ),
        ("a: \"\\xZZ\"", "f:1:7: this escape lacks its hexadecimal digits"),
        ("a: \"\\uD800\"", "f:1:7: this escape names no character"),
        ("a: [,]", "f:1:5: a value is missing here"),
        ("a: [b,\n ? ", "f:2:4: a value is missing here"),
        ("{a: 1}\nb", "f:2:1: the document is over before this text"),
        ("a: | b", "f:1:6: the text of `|` or `>` starts on the next line"),
        (
            "%YAML 3.0\n--- a",
            "f:1:1: this is not YAML: found incompatible YAML document"
        ),
    ])
    func `what is no plain YAML is one fault in our words`(text: String, printed: String) {
        #expect(fault(text) == printed)
    }

    @Test(
        arguments: [
            (
                [0x61, 0x0A, 0x62, 0xFF],
                "f:2:2: the file is not UTF-8 from here on\nhelp: save it as UTF-8"
            ),
            (
                [0xFF, 0xFE, 0x61, 0x00],
                "f:1:1: the file is not UTF-8 from here on\nhelp: save it as UTF-8"
            ),
            (
                [0xED, 0xA0, 0x80],
                "f:1:1: the file is not UTF-8 from here on\nhelp: save it as UTF-8"
            ),
            ([0x61, 0x00], "f:1:2: character U+0000 is not allowed in a job file"),
            ([0x61, 0x0D, 0x1B], "f:2:1: character U+001B is not allowed in a job file"),
            ([0x61, 0xC2, 0x85], "f:1:2: character U+0085 is not allowed in a job file"),
            ([0x61, 0xE2, 0x80, 0xA8], "f:1:2: character U+2028 is not allowed in a job file"),
            ([0x61, 0xEF, 0xBB, 0xBF], "f:1:2: character U+FEFF is not allowed in a job file"),
        ] as [([UInt8], String)])
    func `bytes that are no text are told with their place`(bytes: [UInt8], printed: String) {
        #expect(fault(bytes) == printed)
    }

    @Test func `a file may have one MiB and no byte more`() {
        let comment = "a: 1\n#" + String(repeating: "x", count: (1 << 20) - 6)

        #expect(fault(comment) == nil)
        #expect(
            fault(comment + "x")
                == "f: the file has more than 1 MiB, the most a job file may have")
    }

    @Test func `mappings and lists may stand 32 deep and no deeper`() {
        let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        let deeper = "{a: \(deep)}"
        let bottomless = String(repeating: "[", count: 1 << 20)
        let message = "more than 32 mappings and lists stand inside one another"

        #expect(fault(deep) == nil)
        #expect(fault(deeper) == "f:1:36: \(message)")
        #expect(fault(bottomless) == "f:1:33: \(message)")
        #expect(fault(String(repeating: "- ", count: 500_000)) == "f:1:65: \(message)")
        #expect(fault(String(repeating: "? ", count: 500_000)) == "f:1:65: \(message)")
    }

    @Test func `a file may hold a hundred thousand nodes and no more`() {
        let most = "[" + String(repeating: "a,", count: 99_999) + "]"

        #expect(fault(most) == nil)
        #expect(
            fault("[a," + most.dropFirst())
                == "f:1:200000: the file holds more than 100000 keys and values, the most it may")
    }

    @Test func `an alias bomb is refused at its first anchor`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }

        #expect(fault(text) == "f:1:5: anchors (`&`) are not allowed in a job file")
    }
}
