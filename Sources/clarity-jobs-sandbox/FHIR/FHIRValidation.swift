import JSON

/// The rules for a resource that matter to a client, from the definitions of R4: observation.html,
/// datatypes.html and references.html.
struct FHIRValidation {
    private(set) var issues: [FHIRRefusal.Issue] = []
    private(set) var index = FHIRIndex()
    /// The literal references to resources of the same server, with the path of each.
    private(set) var references: [(target: String, path: String)] = []

    /// The types that the server stores.
    static let types = ["Device", "Observation", "Patient"]

    /// Returns whether a text is an id (datatypes.html, `id`).
    static func isID(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "."
            }
    }

    /// Checks a resource, and collects what a search finds it by.
    init(_ resource: JSON, type: String) {
        empties(resource, type)
        for identifier in list(resource, "identifier", type) {
            if identifier["value"]?.text == nil, identifier["value"] != nil {
                fault("structure", identifier["value"], "\(type).identifier.value")
            }
            index.add("identifier", identifier["system"]?.text, identifier["value"]?.text)
        }
        if type == "Observation" { observation(resource) }
    }

    /// The elements of an Observation besides `value[x]` and `effective[x]`.
    private static let elements: Set<String> = [
        "resourceType", "id", "meta", "implicitRules", "language", "text", "contained",
        "extension", "modifierExtension", "identifier", "basedOn", "partOf", "status", "category",
        "code", "subject", "focus", "encounter", "issued", "performer", "dataAbsentReason",
        "interpretation", "note", "bodySite", "method", "specimen", "device", "referenceRange",
        "hasMember", "derivedFrom", "component",
    ]
    private static let statuses: Set<String> = [
        "registered", "preliminary", "final", "amended", "corrected", "cancelled",
        "entered-in-error", "unknown",
    ]
    private static let values: Set<String> = [
        "valueQuantity", "valueCodeableConcept", "valueString", "valueBoolean", "valueInteger",
        "valueRange", "valueRatio", "valueSampledData", "valueTime", "valueDateTime", "valuePeriod",
    ]
    private static let effectives: Set<String> = [
        "effectiveDateTime", "effectivePeriod", "effectiveTiming", "effectiveInstant",
    ]

    private mutating func observation(_ resource: JSON) {
        let path = "Observation"
        let known = FHIRValidation.elements.union(FHIRValidation.values)
            .union(FHIRValidation.effectives)
        for member in resource.members where !known.contains(member.name) {
            if member.name.hasPrefix("_"), known.contains(String(member.name.dropFirst())) {
                continue
            }
            issue("structure", "Unknown element '\(member.name)'", "\(path).\(member.name)")
        }
        if let status = resource["status"]?.text, FHIRValidation.statuses.contains(status) {
            index.add("status", nil, status)
        } else {
            fault("code-invalid", resource["status"], "\(path).status")
        }
        concept(resource["code"], "code", path, isRequired: true)
        for category in list(resource, "category", path) {
            concept(category, "category", path, isRequired: true)
        }
        value(resource, path)
        for component in list(resource, "component", path) {
            concept(component["code"], "code", "\(path).component", isRequired: true)
            value(component, "\(path).component")
        }
        effective(resource, path)
        if let issued = resource["issued"], Timestamp(iso8601: issued.text ?? "") == nil {
            fault("value", issued, "\(path).issued")
        }
        reference(
            resource["subject"], "\(path).subject", ["Patient", "Group", "Device", "Location"])
        if let subject = resource["subject"]?["reference"]?.text {
            index.add("subject", nil, subject)
        }
        reference(resource["device"], "\(path).device", ["Device", "DeviceMetric"])
        let performers = [
            "Practitioner", "PractitionerRole", "Organization", "CareTeam", "Patient",
            "RelatedPerson",
        ]
        for performer in list(resource, "performer", path) {
            reference(performer, "\(path).performer", performers)
        }
    }

    /// Checks a CodeableConcept.
    private mutating func concept(
        _ concept: JSON?, _ name: String, _ path: String, isRequired: Bool
    ) {
        let codings = concept?["coding"]?.list ?? []
        let isText = concept?["text"]?.text?.isEmpty == false
        guard !codings.isEmpty || isText || !isRequired else {
            return fault("required", concept, "\(path).\(name)")
        }
        for coding in codings {
            guard let code = coding["code"]?.text, !code.contains(where: \.isWhitespace) else {
                fault("value", coding["code"], "\(path).\(name).coding.code")
                continue
            }
            if path == "Observation" { index.add(name, coding["system"]?.text, code) }
        }
    }

    private mutating func value(_ holder: JSON, _ path: String) {
        let found = holder.members.filter { $0.name.hasPrefix("value") }
        if found.count > 1 {
            issue("structure", "More than one value[x]: \(found.map(\.name))", "\(path).value")
        }
        for member in found {
            let place = "\(path).\(member.name)"
            switch member.name {
            case "valueQuantity":
                if member.value["value"]?.double == nil {
                    fault("value", member.value["value"], "\(place).value")
                }
                if member.value["code"] != nil, member.value["system"]?.text == nil {
                    // The invariant qty-3.
                    issue("invariant", "qty-3: a unit's code needs its system", place)
                }
            case "valueSampledData":
                for name in ["origin", "period", "dimensions"] where member.value[name] == nil {
                    fault("required", nil, "\(place).\(name)")
                }
                if member.value["period"]?.double == nil || member.value["data"]?.text == nil {
                    fault("value", member.value["data"], place)
                }
            case "valueInteger":
                guard case .integer = member.value else {
                    fault("value", member.value, place)
                    continue
                }
            case "valueBoolean":
                guard case .bool = member.value else {
                    fault("value", member.value, place)
                    continue
                }
            case "valueString", "valueTime":
                if member.value.text == nil { fault("value", member.value, place) }
            case "valueDateTime":
                if FHIRDate.range(member.value.text ?? "") == nil {
                    fault("value", member.value, place)
                }
            case "valuePeriod": _ = period(member.value, place)
            default:
                guard case .object = member.value else {
                    fault("value", member.value, place)
                    continue
                }
            }
        }
        if path != "Observation",
            found.contains(where: { !FHIRValidation.values.contains($0.name) })
        {
            issue("structure", "Unknown element '\(found.map(\.name))'", path)
        }
    }

    private mutating func effective(_ resource: JSON, _ path: String) {
        let found = resource.members.filter { FHIRValidation.effectives.contains($0.name) }
        if found.count > 1 {
            issue("structure", "More than one effective[x]", "\(path).effective")
        }
        for member in found {
            let place = "\(path).\(member.name)"
            switch member.name {
            case "effectiveDateTime":
                index.dates = FHIRDate.range(member.value.text ?? "")
                if index.dates == nil { fault("value", member.value, place) }
            case "effectiveInstant":
                let instant = Timestamp(iso8601: member.value.text ?? "")
                index.dates = instant.map { $0.milliseconds...$0.milliseconds }
                if instant == nil { fault("value", member.value, place) }
            case "effectivePeriod": index.dates = period(member.value, place)
            default: continue
            }
        }
    }

    private mutating func period(_ period: JSON, _ path: String) -> ClosedRange<Int64>? {
        var ends: [Int64] = [Int64.min, Int64.max]
        for (index, name) in ["start", "end"].enumerated() {
            guard let text = period[name] else { continue }
            guard let range = FHIRDate.range(text.text ?? "") else {
                fault("value", text, "\(path).\(name)")
                return nil
            }
            ends[index] = index == 0 ? range.lowerBound : range.upperBound
        }
        guard ends[0] <= ends[1] else {
            issue("invariant", "per-1: the end \(period.line) is before the start", path)
            return nil
        }
        return ends[0]...ends[1]
    }

    private mutating func reference(_ reference: JSON?, _ path: String, _ types: [String]) {
        guard let reference else { return }
        guard let text = reference["reference"]?.text else {
            if reference["reference"] != nil || reference.members.isEmpty {
                fault("structure", reference, path)
            }
            return
        }
        if text.hasPrefix("urn:") || text.hasPrefix("#") || text.contains("://") { return }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, types.contains(String(parts[0])), FHIRValidation.isID(parts[1])
        else { return fault("value", .string(text), "\(path).reference") }
        references.append((text, path))
    }

    /// Refuses what JSON in FHIR may not have (json.html): empty texts, lists and objects, and
    /// null besides the elements of a list.
    private mutating func empties(_ value: JSON, _ path: String) {
        switch value {
        case .object(let members):
            if members.isEmpty { issue("structure", "Empty object", path) }
            for member in members { empties(member.value, "\(path).\(member.name)") }
        case .array(let elements):
            if elements.isEmpty { issue("structure", "Empty list", path) }
            for element in elements where element != .null { empties(element, path) }
        case .string(let text):
            if text.isEmpty { issue("value", "Empty text", path) }
        case .null: issue("structure", "Null", path)
        default: break
        }
    }

    /// Returns the elements of a list, which only a list may be.
    private mutating func list(_ holder: JSON, _ name: String, _ path: String) -> [JSON] {
        guard let value = holder[name] else { return [] }
        guard case .array(let elements) = value else {
            fault("structure", value, "\(path).\(name)")
            return []
        }
        return elements
    }

    /// Adds an issue that repeats the value, as real servers do.
    private mutating func fault(_ code: String, _ value: JSON?, _ path: String) {
        let text = value.map { "Invalid value \($0.line) for element" } ?? "Missing element"
        issue(code, "\(text) '\(path)'", path)
    }

    private mutating func issue(_ code: String, _ text: String, _ path: String) {
        issues.append(.init(code: code, diagnostics: text, expression: path))
    }
}

extension FHIRIndex {
    fileprivate mutating func add(_ name: String, _ system: String?, _ value: String?) {
        if let value { terms.append((name, system ?? "", value)) }
    }
}

/// Dates of FHIR: a year, a month, a day or a time with a zone (datatypes.html, `dateTime`).
enum FHIRDate {
    /// Returns the first and the last millisecond of a date; `nil` for anything else. A date
    /// without a zone is one of UTC.
    static func range(_ text: String) -> ClosedRange<Int64>? {
        func start(_ year: Int, _ month: Int) -> Int64? {
            let digits = String(year * 100 + month)
            return Timestamp(iso8601: "\(digits.prefix(4))-\(digits.suffix(2))-01T00:00:00Z")?
                .milliseconds
        }
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        let length = text.utf8.count
        if length == 4 || length == 7 {
            guard numbers.count == (length == 4 ? 1 : 2), let year = numbers[0],
                (1000...9998).contains(year), let month = length == 4 ? 1 : numbers[1],
                (1...12).contains(month), let first = start(year, month)
            else { return nil }
            let isLast = length == 4 || month == 12
            return start(isLast ? year + 1 : year, isLast ? 1 : month + 1).map { first...$0 - 1 }
        }
        if length == 10 {
            return Timestamp(iso8601: text + "T00:00:00Z").map {
                $0.milliseconds...$0.milliseconds + 86_399_999
            }
        }
        return Timestamp(iso8601: text).map {
            $0.milliseconds...$0.milliseconds + (text.contains(".") ? 0 : 999)
        }
    }
}
