/// The source folders and the dependencies between them that Folders.md allows.
struct Architecture {
    struct Folder {
        /// The path below Sources/.
        var path: String
        /// The folders of the same target that this folder may use, as paths below Sources/.
        var uses: Set<String>
        /// The modules that this folder may import.
        var imports: Set<String>

        /// The target: the first part of the path.
        var target: Substring { path.prefix { $0 != "/" } }
    }

    var folders: [Folder]

    /// Reads the table whose heading begins with `folder`.
    init(markdown: String) {
        let table = markdown.split(separator: "\n").drop { !$0.hasPrefix("| folder |") }
        folders = table.filter { $0.hasPrefix("| ") }.compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .dropFirst().dropLast().map { cell in
                    String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
                }
            guard cells.count == 3, cells[0] != "folder" else { return nil }
            let target = cells[0].prefix { $0 != "/" }
            let uses = Architecture.list(cells[1]).map {
                $0 == "." ? "\(target)" : "\(target)/\($0)"
            }
            return Folder(
                path: cells[0], uses: Set(uses), imports: Set(Architecture.list(cells[2])))
        }
    }

    private static func list(_ cell: String) -> [String] {
        cell.split(separator: ",").map { $0.split(separator: " ").joined() }
    }

    /// Returns every dependency that the table does not allow, one line each.
    func violations(in files: [SourceFile]) -> [String] {
        let known = Dictionary(uniqueKeysWithValues: folders.map { ($0.path, $0) })
        // If several folders declare a name, its uses do not show which folder they depend on.
        var homes: [String: Set<String>] = [:]
        for file in files {
            for name in file.declaredTypes { homes[name, default: []].insert(file.folder) }
        }
        let unknown = Set(files.map(\.folder)).subtracting(known.keys).sorted()
        return unknown.map { "\($0): the folder is not in Folders.md" }
            + files.flatMap { file -> [String] in
                guard let folder = known[file.folder] else { return [] }
                let imports = file.imports.filter { !folder.imports.contains($0) }
                    .map { "\(file.path): imports \($0)" }
                let names = file.identifiers.sorted().compactMap { name -> String? in
                    guard let places = homes[name], places.count == 1, let place = places.first,
                        place != folder.path, known[place]?.target == folder.target,
                        !folder.uses.contains(place)
                    else { return nil }
                    return "\(file.path): uses \(name) of \(place)"
                }
                return imports + names
            }
    }
}
