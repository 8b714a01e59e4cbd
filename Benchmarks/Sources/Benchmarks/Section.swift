/// The figures of one part, as a section of the results.
struct Section {
    /// A row: a figure, the peer's figure, and the target.
    struct Figure {
        var what: String
        var value: String
        /// The peer's figure, or empty.
        var beside = ""
        /// The figure as a multiple of the peer's; `nil` if there is no peer.
        var ratio: Double?
        /// The target, such as `at most 3 times`; empty for a figure without one.
        var target = ""
        var isMet: Bool?
    }

    var title: String
    var figures: [Figure] = []
    /// How the figures were measured, one line each.
    var notes: [String] = []

    mutating func add(_ figure: Figure) { figures.append(figure) }

    var markdown: String {
        let rows = figures.map { figure in
            [
                figure.what, figure.value, figure.beside,
                figure.ratio.map { "\(decimal($0)) times" } ?? "", figure.target,
                figure.isMet.map { $0 ? "yes" : "**no**" } ?? "",
            ]
        }
        let heading = ["figure", "here", "beside it", "ratio", "target", "met"]
        let widths = heading.indices.map { column in
            ([heading] + rows).map { $0[column].count }.max() ?? 0
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        let lines = ([heading, rule] + rows).map { cells in
            let padded = cells.indices.map { column in
                cells[column]
                    + String(repeating: " ", count: widths[column] - cells[column].count)
            }
            return "| " + padded.joined(separator: " | ") + " |\n"
        }
        let remarks = notes.map { "- \($0)\n" }.joined()
        return "## \(title)\n\n" + lines.joined() + (notes.isEmpty ? "" : "\n\(remarks)") + "\n"
    }
}
