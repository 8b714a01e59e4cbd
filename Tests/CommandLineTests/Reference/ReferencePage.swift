import Foundation
import Testing

/// A page of `docs/` that ends in a generated reference.
///
/// With the variable `CLARITY_WRITE_DOCS`, `check` rewrites the reference instead of comparing it.
struct ReferencePage {
    private static let heading = "## Reference\n\n"

    private let location: URL
    let text: String
    private let start: String.Index

    init(_ name: String) throws {
        location =
            URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/\(name)").standardized
        text = try String(contentsOf: location, encoding: .utf8)
        start = try #require(text.firstRange(of: Self.heading)).upperBound
    }

    /// Compares the reference of the page with the one that was generated.
    func check(_ reference: String) throws {
        if ProcessInfo.processInfo.environment["CLARITY_WRITE_DOCS"] != nil {
            try Data((text[..<start] + reference).utf8).write(to: location)
        } else {
            #expect(text[start...] == reference)
        }
    }
}
