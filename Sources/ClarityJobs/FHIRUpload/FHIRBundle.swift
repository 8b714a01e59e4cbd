import HealthStore
import JSON

/// Who names the resources on a server.
enum FHIRNaming: Sendable {
    /// Each has its own id there, under which it is put (FHIR R4, http.html#upsert). A repetition
    /// cannot make a second one.
    case byClient
    /// The server chooses the ids. Each resource has its own one as an identifier, and is created
    /// only if none has it (http.html#ccreate). Some servers make a second one if two such requests
    /// come at once, so there is never more than one.
    case byServer

    /// The system of identifiers that are URIs (terminologies-systems.html).
    private static let system = "urn:ietf:rfc:3986"

    /// How many ids a look-up asks for: an address of some 2,000 characters.
    var mostLookedUp: Int {
        switch self {
        case .byClient: 50
        case .byServer: 20
        }
    }

    /// How many bundles are on their way at once.
    var mostInFlight: Int {
        switch self {
        case .byClient: 4
        case .byServer: 1
        }
    }

    /// The condition of a search for resources.
    func query(_ ids: some Collection<FHIRID>) -> String {
        switch self {
        case .byClient: "_id=\(ids.map(\.text).joined(separator: ","))"
        case .byServer: "identifier=\(ids.map(FHIRNaming.token).joined(separator: ","))"
        }
    }

    /// An identifier as a search names it, with its `|` escaped.
    fileprivate static func token(of id: FHIRID) -> String { "\(system)%7Curn:uuid:\(id.text)" }

    /// The member with the identifier of a resource.
    fileprivate static func identifier(of id: FHIRID) -> String {
        #""identifier":[{"system":"\#(system)","value":"urn:uuid:\#(id.text)"}],"#
    }

    /// Returns the id that this program gave a resource; `nil` for a resource of somebody else.
    fileprivate func id(of resource: JSON) -> FHIRID? {
        switch self {
        case .byClient: return resource["id"]?.text.flatMap { FHIRID($0) }
        case .byServer:
            for identifier in resource["identifier"]?.list ?? []
            where identifier["system"]?.text == FHIRNaming.system {
                guard let value = identifier["value"]?.text, value.hasPrefix("urn:uuid:") else {
                    continue
                }
                return FHIRID(value.dropFirst("urn:uuid:".utf8.count))
            }
            return nil
        }
    }
}

/// A resource that a server has, as a look-up found it.
struct FHIRFound: Sendable {
    let id: FHIRID
    /// Its id on the server.
    let serverID: String
    /// A digest of the server's name of its version.
    let version: UInt64
    let resource: JSON

    /// Returns nothing for a resource of somebody else.
    init?(_ resource: JSON, _ naming: FHIRNaming) {
        guard let id = naming.id(of: resource), let serverID = resource["id"]?.text,
            FHIRFound.isID(serverID)
        else { return nil }
        let version = resource["meta"]?["versionId"]?.text
        self.version = version.map { SentResources.Version.digest($0) } ?? 0
        (self.id, self.serverID, self.resource) = (id, serverID, resource)
    }

    var isWithdrawn: Bool { resource["status"]?.text == FHIRBundle.enteredInError }

    /// Whether it says what was sent, whatever the server added, left out of the names or put into
    /// another order.
    ///
    /// - Parameter sent: the JSON, of a resource or of what `member` names in it.
    func says(_ sent: some Collection<UInt8>, in member: String? = nil) -> Bool {
        do throws(JSONFault) {
            let whole = try JSONParser.parse(Array(sent))
            guard let wanted = member == nil ? whole : whole[member ?? ""] else { return false }
            guard case .object(let members) = wanted else { return false }
            let telling = ["status", "code", "component"]
            return members.allSatisfy { member in
                let isTelling =
                    telling.contains(member.name)
                    || ["value", "effective"].contains { member.name.hasPrefix($0) }
                return !isTelling || FHIRFound.isEqual(member.value, resource[member.name])
            }
        } catch {
            return false
        }
    }

    private static func isEqual(_ one: JSON?, _ other: JSON?) -> Bool {
        switch (one, other) {
        case (.object(let members), .object(let others)):
            members.count == others.count
                && members.allSatisfy { isEqual($0.value, other?[$0.name]) }
        case (.array(let elements), .array(let others)):
            elements.count == others.count && zip(elements, others).allSatisfy(isEqual)
        case (let one?, let other?) where one.double != nil: one.double == other.double
        default: one == other
        }
    }

    /// Whether a text is an id of FHIR (datatypes.html#id), which can be a part of an address.
    private static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

/// Some changes of a server, in one request of the type `batch`: each succeeds or fails alone, and
/// none concerns a resource that another one does (http.html#transaction).
struct FHIRBundle: Sendable {
    static let enteredInError = "entered-in-error"
    private static let head = Array(#"{"resourceType":"Bundle","type":"batch","entry":["#.utf8)

    enum Change: Hashable, Sendable {
        /// A resource gets this content.
        case put(content: UInt64)
        /// A resource is no longer true.
        case withdraw
        case delete
    }

    struct Entry: Sendable {
        /// The index of the part that it belongs to.
        let part: Int
        let id: FHIRID
        let change: Change
        fileprivate var bytes: Range<Int>
    }

    /// `Observation` or `Device`.
    let type: String
    let naming: FHIRNaming
    private(set) var entries: [Entry] = []
    private var written = FHIRBundle.head

    init(of type: String, _ naming: FHIRNaming) { (self.type, self.naming) = (type, naming) }

    /// How many bytes the request has.
    var count: Int { written.count + 2 }
    var body: [UInt8] { written + Array("]}".utf8) }

    /// Adds a resource that is to be stored.
    ///
    /// - Parameters:
    ///   - resource: the JSON, which begins with the type and the id.
    ///   - serverID: its id on a server that chose it; `nil` for one that is not there yet.
    mutating func put(
        _ resource: [UInt8], _ id: FHIRID, _ change: Change, part: Int, serverID: String?
    ) {
        let begin = written.count
        written += begin == FHIRBundle.head.count ? #"{"resource":"#.utf8 : #",{"resource":"#.utf8
        switch naming {
        case .byClient:
            written += resource
            written += #","request":{"method":"PUT","url":""#.utf8
            written += type.utf8
            written.append(UInt8(ascii: "/"))
            id.append(to: &written)
            written += #""}}"#.utf8
        case .byServer:
            let known = #"{"resourceType":"\#(type)","id":"\#(id.text)","#.utf8.count
            written += #"{"resourceType":"\#(type)","#.utf8
            if let serverID { written += #""id":"\#(serverID)","#.utf8 }
            written += FHIRNaming.identifier(of: id).utf8
            written += resource.dropFirst(known)
            if let serverID {
                written += #","request":{"method":"PUT","url":"\#(type)/\#(serverID)"}}"#.utf8
            } else {
                let condition = "identifier=\(FHIRNaming.token(of: id))"
                written +=
                    #","request":{"method":"POST","url":"\#(type)","ifNoneExist":"\#(condition)"}}"#
                    .utf8
            }
        }
        note(id, change, part, from: begin)
    }

    /// Adds a resource that is to be deleted.
    mutating func delete(_ id: FHIRID, part: Int, serverID: String) {
        let begin = written.count
        if begin > FHIRBundle.head.count { written.append(UInt8(ascii: ",")) }
        written += #"{"request":{"method":"DELETE","url":"\#(type)/\#(serverID)"}}"#.utf8
        note(id, .delete, part, from: begin)
    }

    private mutating func note(_ id: FHIRID, _ change: Change, _ part: Int, from begin: Int) {
        let first = begin == FHIRBundle.head.count ? begin : begin + 1
        entries.append(Entry(part: part, id: id, change: change, bytes: first..<written.count))
    }

    /// Whether a resource on the server says what an entry put there.
    func says(_ entry: Entry, in there: FHIRFound) -> Bool {
        switch entry.change {
        case .put(content: 0): true
        case .put: there.says(written[entry.bytes], in: "resource")
        case .withdraw: there.isWithdrawn
        case .delete: false
        }
    }

    /// Returns two bundles with one half of the entries each.
    var halves: [FHIRBundle] {
        let middle = entries.count / 2
        return [part(0..<middle), part(middle..<entries.count)]
    }

    /// Returns a bundle with the entries that have these indices.
    func part(_ indices: some Collection<Int>) -> FHIRBundle {
        var bundle = FHIRBundle(of: type, naming)
        for index in indices {
            let begin = bundle.written.count
            if !bundle.entries.isEmpty { bundle.written.append(UInt8(ascii: ",")) }
            bundle.written += written[entries[index].bytes]
            bundle.note(entries[index].id, entries[index].change, entries[index].part, from: begin)
        }
        return bundle
    }
}
