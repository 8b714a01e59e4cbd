import ClaritySystem

extension ValueSchema where Value == String {
    /// Reads the path of a file or folder; `~/` and relative paths become absolute.
    static var path: ValueSchema {
        .scalar(.path) { text, node, place, decoding in
            guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
                decoding.report(node.position, "\(place.key) \(shown(text)) is not a path")
                return nil
            }
            let context = decoding.context
            if text.hasPrefix("/") { return text }
            if text == "~" { return context.home }
            if text.hasPrefix("~/") { return join(context.home, text.dropFirst(2)) }
            guard !text.hasPrefix("~") else {
                decoding.report(
                    node.position,
                    "\(place.key) \(shown(text)) starts with another user's home folder",
                    help: "write the whole path; only `~/` is understood")
                return nil
            }
            return join(context.folder, text[...])
        }
    }

    /// Reads an https address, or an http address on this machine.
    static var url: ValueSchema {
        .scalar(.url) { text, node, place, decoding in
            switch WebAddress.parse(text) {
            case .success(let address):
                guard address.isSecure || address.isLoopback else {
                    decoding.report(
                        node.position,
                        "\(place.key) leads to \(shown(address.host)) over http, where anybody on "
                            + "the way can read it",
                        help: "use https; http is for `localhost`, `127.0.0.1` and `[::1]` only")
                    return nil
                }
                return text
            case .failure(let fault):
                // Do not show the address itself: it may contain a password.
                decoding.report(node.position, "\(place.key) \(fault.message)", help: fault.help)
                return nil
            }
        }
    }
}

/// Joins a folder and a relative path.
func join(_ folder: String, _ path: Substring) -> String {
    var path = path
    while path.hasPrefix("./") { path = path.dropFirst(2) }
    return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
}
