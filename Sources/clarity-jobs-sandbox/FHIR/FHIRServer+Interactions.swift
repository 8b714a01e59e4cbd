import Database
import JSON

extension FHIRServer {
    /// Carries out one interaction (http.html). It belongs into a transaction of the store.
    ///
    /// - Throws: `FHIRRefusal` before anything is written.
    func perform(
        _ call: FHIRInteraction, _ grant: FHIRGrant, _ base: String
    ) throws -> FHIRResult {
        guard let type = call.segments.first.map(String.init), FHIRValidation.types.contains(type)
        else {
            throw FHIRRefusal(404, "not-supported", "Unknown resource type in '\(call.url)'")
        }
        func demand(_ letter: Character) throws {
            guard grant.allows(letter, type) else {
                throw FHIRRefusal(403, "forbidden", "The scope does not allow '\(type).\(letter)'")
            }
        }
        let id = call.segments.dropFirst().first.map(String.init) ?? ""
        let isHistory = call.segments.count > 2 && call.segments[2] == "_history"
        switch (call.method, call.segments.count) {
        case ("POST", 1):
            try demand("c")
            return try create(call, type)
        case ("PUT", 2):
            try demand("u")
            return try update(call, type, id)
        case ("DELETE", 2):
            try demand("d")
            return try delete(type, id)
        case ("GET", 1):
            try demand("s")
            var search = try FHIRSearch(type, call.query, pageSize: manner.pageSize)
            search.conditions += lag
            return FHIRResult(status: 200, resource: try search.page(store, base: base))
        case ("GET", 2):
            try demand("r")
            return FHIRResult(status: 200, version: try existing(type, id))
        case ("GET", 3) where isHistory:
            try demand("r")
            return FHIRResult(status: 200, resource: try history(type, id, base))
        case ("GET", 4) where isHistory:
            try demand("r")
            guard
                let version = try store.history(type, id).first(where: {
                    String($0.number) == call.segments[3]
                })
            else { throw missing(call.url) }
            if version.content == nil { throw gone(call.url) }
            return FHIRResult(status: 200, version: version)
        default:
            throw FHIRRefusal(405, "not-supported", "\(call.method) of '\(call.url)'")
        }
    }

    private func missing(_ url: String) -> FHIRRefusal {
        FHIRRefusal(404, "not-found", "Resource '\(url)' is not known")
    }

    private func gone(_ url: String) -> FHIRRefusal {
        FHIRRefusal(410, "deleted", "Resource '\(url)' was deleted")
    }

    /// The condition that a resource was stored long enough ago to be found.
    private var lag: [FHIRCondition] {
        guard options.searchLag > .zero else { return [] }
        let latest = (clock() - options.searchLag).milliseconds
        return [FHIRCondition(sql: "r.at_ms <= ?", values: [.integer(latest)])]
    }

    private func existing(_ type: String, _ id: String) throws -> FHIRVersion {
        guard let version = try store.resource(type, id) else { throw missing("\(type)/\(id)") }
        if version.content == nil { throw gone("\(type)/\(id)") }
        return version
    }

    private func create(_ call: FHIRInteraction, _ type: String) throws -> FHIRResult {
        let resource = try resource(call, type)
        if let found = try match(call, type) { return FHIRResult(status: 200, version: found) }
        let version = FHIRVersion(
            type: type, id: try call.assignedID ?? newID(), number: 1, at: clock(),
            content: content(resource))
        try write(version, resource)
        return FHIRResult(status: 201, version: version)
    }

    /// Returns the one resource that a conditional create finds; `nil` if it finds none, or the
    /// create has no condition.
    func match(_ call: FHIRInteraction, _ type: String) throws -> FHIRVersion? {
        guard let query = call.ifNoneExist else { return nil }
        let text = query.split(separator: "?").last.map(String.init) ?? ""
        var search = try FHIRSearch(type, FHIRInteraction.pairs(text), pageSize: 2)
        guard search.conditions.count > 1 else {
            throw FHIRRefusal(400, "invalid", "If-None-Exist '\(query)' has no criterion")
        }
        search.conditions += lag
        let found = try store.resources(search.conditions, after: 0, limit: 2)
        if found.count > 1 {
            throw FHIRRefusal(412, "multiple-matches", "Several resources match '\(query)'")
        }
        return found.first?.version
    }

    private func update(
        _ call: FHIRInteraction, _ type: String, _ id: String
    ) throws -> FHIRResult {
        let resource = try resource(call, type)
        guard FHIRValidation.isID(id) else {
            throw FHIRRefusal(400, "value", "Invalid id '\(id)'", at: "\(type).id")
        }
        guard resource["id"]?.text == id else {
            let found = resource["id"]?.line ?? "none"
            throw FHIRRefusal(
                400, "invalid", "The id \(found) of the resource is not '\(id)' of the URL",
                at: "\(type).id")
        }
        let old = try store.resource(type, id)
        if let wanted = call.ifMatch, wanted != old?.etag {
            throw FHIRRefusal(
                manner.staleStatus, "conflict",
                "If-Match '\(wanted)' but the version is '\(old?.etag ?? "none")'")
        }
        if old == nil {
            guard manner.createsByUpdate else { throw missing("\(type)/\(id)") }
            if !manner.takesNumericIDs, id.allSatisfy(\.isNumber) {
                throw FHIRRefusal(
                    400, "invalid",
                    "Can not create resource with ID[\(id)], clients may only assign IDs which "
                        + "contain at least one non-numeric character")
            }
        }
        let content = content(resource)
        if let old, manner.keepsUnchangedVersion, old.content?.sorted == content.sorted {
            return FHIRResult(status: 200, version: old)
        }
        let version = FHIRVersion(
            type: type, id: id, number: (old?.number ?? 0) + 1, at: clock(), content: content)
        try write(version, resource)
        return FHIRResult(status: old?.content == nil ? 201 : 200, version: version)
    }

    /// Deletes a resource; one that is not there is deleted too (http.html, "delete").
    private func delete(_ type: String, _ id: String) throws -> FHIRResult {
        guard let old = try store.resource(type, id), old.content != nil else {
            return FHIRResult(status: 204)
        }
        let referring = FHIRCondition(
            sql: "r.place IN (SELECT place FROM fhir_terms WHERE name = 'subject' AND value = ?)",
            values: [.text("\(type)/\(id)")])
        if manner.checksReferences, try store.count([referring]) > 0 {
            throw FHIRRefusal(409, "conflict", "Resource '\(type)/\(id)' is referred to")
        }
        let version = FHIRVersion(type: type, id: id, number: old.number + 1, at: clock())
        try store.write(version, FHIRIndex())
        return FHIRResult(status: 204, version: version)
    }

    private func history(_ type: String, _ id: String, _ base: String) throws -> JSON {
        let versions = try store.history(type, id)
        if versions.isEmpty { throw missing("\(type)/\(id)") }
        let entries = versions.map { version -> JSON in
            let method = version.content == nil ? "DELETE" : "PUT"
            let entry: JSON = [
                "fullUrl": .string("\(base)/\(type)/\(id)"),
                "request": ["method": .string(method), "url": .string("\(type)/\(id)")],
                "response": [
                    "status": version.content == nil ? "204" : "200",
                    "etag": .string(version.etag), "lastModified": .time(version.at),
                ],
            ]
            return version.content == nil ? entry : entry.adding(["resource": version.resource])
        }
        return [
            "resourceType": "Bundle", "type": "history", "total": .count(versions.count),
            "entry": .array(entries),
        ]
    }

    /// Returns the resource of a call, if it is one of the type and small enough.
    private func resource(_ call: FHIRInteraction, _ type: String) throws -> JSON {
        guard let resource = call.resource else {
            throw FHIRRefusal(400, "required", "The resource is missing")
        }
        guard resource["resourceType"]?.text == type else {
            let found = resource["resourceType"]?.line ?? "none"
            throw FHIRRefusal(
                400, "invalid", "The resourceType \(found) is not '\(type)' of the URL")
        }
        if manner.resourceBytes < manner.requestBytes,
            resource.bytes.count > manner.resourceBytes
        {
            throw FHIRRefusal(
                413, "too-long", "The resource has more than \(manner.resourceBytes) bytes")
        }
        return resource
    }

    /// Returns what the client decides of a resource: all but its version.
    private func content(_ resource: JSON) -> JSON {
        let meta = (resource["meta"]?.members ?? []).filter {
            $0.name != "versionId" && $0.name != "lastUpdated"
        }
        let rest = resource.members.filter { !["resourceType", "id", "meta"].contains($0.name) }
        return .object(rest + (meta.isEmpty ? [] : [.init(name: "meta", value: .object(meta))]))
    }

    private func write(_ version: FHIRVersion, _ resource: JSON) throws {
        let validation = FHIRValidation(resource, type: version.type)
        if !validation.issues.isEmpty {
            throw FHIRRefusal(manner.invalidStatus, validation.issues)
        }
        if openReferences != nil {
            openReferences? += validation.references
        } else {
            try check(validation.references)
        }
        try store.write(version, validation.index)
    }

    /// Checks that references lead somewhere, if the server does.
    func check(_ references: [(target: String, path: String)]) throws {
        guard manner.checksReferences else { return }
        for (target, path) in references {
            let parts = target.split(separator: "/").map(String.init)
            guard try store.resource(parts[0], parts[1])?.content != nil else {
                throw FHIRRefusal(
                    manner.name == "hapi" ? 400 : 404, "not-found",
                    "Resource \(target) not found, specified in path: \(path)", at: path)
            }
        }
    }
}

extension JSON {
    /// The value with the members of all objects in the order of their names.
    fileprivate var sorted: JSON {
        switch self {
        case .object(let members):
            .object(
                members.map { Member(name: $0.name, value: $0.value.sorted) }
                    .sorted { $0.name < $1.name })
        case .array(let elements): .array(elements.map(\.sorted))
        default: self
        }
    }
}
