import HTTPServing
import CWebPages

/// The files of the pages, which are part of the program.
enum PageFiles {
    /// The paths that the one HTML file answers; its script shows the page.
    private static let pages: Set<String> = [
        "/", "/today", "/explore", "/sleep", "/workouts", "/insights", "/accounts", "/jobs",
        "/data", "/sources", "/machine", "/access",
    ]

    /// Whether a path is that of a page.
    static func isPage(_ path: String) -> Bool {
        if pages.contains(path) { return true }
        // `/runs/42`
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].isEmpty && parts[1] == "runs" && !parts[2].isEmpty
            && parts[2].utf8.count <= 18 && parts[2].utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns the answer with a file; `nil` if there is none of this name.
    static func answer(_ name: String) -> Answer? {
        guard let file = cwebpages_find(name)?.pointee, let bytes = file.bytes else { return nil }
        return Answer(
            status: 200, type: type(of: name),
            content: .fixed(
                Answer.FixedBytes(start: UnsafeRawPointer(bytes), count: Int(file.size))))
    }

    private static func type(of name: String) -> String {
        switch name[(name.lastIndex(of: ".") ?? name.startIndex)...] {
        case ".html": "text/html; charset=utf-8"
        case ".css": "text/css; charset=utf-8"
        case ".js", ".mjs": "text/javascript; charset=utf-8"
        case ".svg": "image/svg+xml"
        case ".png": "image/png"
        case ".ico": "image/x-icon"
        case ".json": "application/json"
        case ".webmanifest": "application/manifest+json"
        case ".woff2": "font/woff2"
        default: "application/octet-stream"
        }
    }
}
