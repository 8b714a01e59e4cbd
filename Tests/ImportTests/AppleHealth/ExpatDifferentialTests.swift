import ClarityTestSupport
import Glibc
import Testing

@testable import Import

/// Compares the scanner with expat, which follows XML 1.0 strictly.
///
/// If expat accepts a document, both must find the same records with the same attributes, byte for
/// byte, after decoding references and changing white space in values to spaces. If expat refuses a
/// document, the scanner must find every record before the fault, and may find more after it.
///
/// The two differ on purpose in these cases, which the documents avoid:
/// - The scanner skips the document type. So an attribute with a default there that is not written
///   does not exist, and neither does a declared entity.
/// - A processing instruction ends at its first `>`, not at `?>`. Otherwise an instruction that is
///   never closed would swallow the rest of the export.
/// - A correlation that is never closed ends at the next element beside it. So in a damaged
///   document the two may disagree about which records are inside a correlation.
@Suite(.enabled(if: Python.isPresent, "\(Python.need)"), .timeLimit(.minutes(10)))
struct ExpatDifferentialTests {
    /// Writes what expat reports of each file in a folder to another file beside it, in the format
    /// of `ScannedText`'s lines.
    private static let reference = """
        import os, sys, xml.parsers.expat
        def escaped(text):
            return ''.join(chr(b) if 0x20 < b < 0x7f and b != 0x25 else '%%%02X' % b
                           for b in text.encode('utf-8'))
        def told(data):
            lines, stack, counts = [], [], {}
            parser = xml.parsers.expat.ParserCreate()
            parser.ordered_attributes = True
            parser.specified_attributes = True
            def start(name, attributes):
                counts[name] = counts.get(name, 0) + 1
                pairs = list(zip(attributes[::2], attributes[1::2]))
                inside = 'Correlation' in stack
                if name == 'Record':
                    lines.append(('nested' if inside else 'record') + ''.join(
                        ' %s=%s' % (escaped(n), escaped(v)) for n, v in pairs))
                elif name == 'MetadataEntry' and 'Record' in stack and not inside:
                    values = dict(pairs)
                    if 'key' in values and 'value' in values:
                        lines.append('metadata %s=%s' % (
                            escaped(values['key']), escaped(values['value'])))
                stack.append(name)
            parser.StartElementHandler = start
            parser.EndElementHandler = lambda name: stack.pop()
            try:
                parser.Parse(data, True)
            except xml.parsers.expat.ExpatError:
                lines.append('fault')
            return lines + ['count %s %d' % (escaped(n), c) for n, c in sorted(counts.items())]
        for name in os.listdir(sys.argv[1]):
            path = os.path.join(sys.argv[1], name)
            with open(path, 'rb') as file: lines = told(file.read())
            with open(path + '.expat', 'w') as file: file.write('\\n'.join(lines))
        """

    /// Returns what expat reports of these documents.
    private func expat(_ documents: [[UInt8]]) throws -> [[String]] {
        let folder = try TemporaryFolder()
        for (place, document) in documents.enumerated() {
            try Files.write(document, to: "\(folder.path)/\(place)")
        }
        try Python.run(ExpatDifferentialTests.reference, [folder.path])
        return try documents.indices.map { place in
            String(decoding: try Files.bytes("\(folder.path)/\(place).expat"), as: UTF8.self)
                .split(separator: "\n").map(String.init)
        }
    }

    private func isRecordOrMetadata(_ line: String) -> Bool {
        ["record", "nested", "metadata"].contains { line.hasPrefix($0) }
    }

    /// Returns only the lines of records, inside a correlation or not.
    private func records(_ lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("record") || $0.hasPrefix("nested") }.map {
            String($0.dropFirst(6))
        }
    }

    /// Returns the elements as a report counts them.
    private func elements(_ lines: [String]) -> [String: Int64] {
        let names = Set(ExportElement.allCases.map { "\($0.name)" })
        var counts: [String: Int64] = [:]
        for line in lines where line.hasPrefix("count ") {
            let words = line.split(separator: " ").map(String.init)
            let isShown = names.contains(words[1]) || words[1].isPlainName()
            counts[isShown ? words[1] : "(other elements)", default: 0] +=
                Int64(words[2]) ?? 0
        }
        return counts
    }

    @Test func `well-formed documents of every form give what expat finds`() throws {
        let first = TrialSeed.first
        let documents = (0..<200).map { ExpatDocument.make(seed: first + UInt64($0)) }

        let references = try expat(documents)

        var found = 0
        for (place, document) in documents.enumerated() {
            let text = try ScannedText(document)
            let reference = references[place]
            found += records(reference).count
            #expect(!reference.contains("fault"), "seed \(first) + \(place)")
            #expect(
                text.lines.filter(isRecordOrMetadata) == reference.filter(isRecordOrMetadata),
                "seed \(first) + \(place)")
            #expect(text.report.elements == elements(reference), "seed \(first) + \(place)")
            #expect(try ScannedText(document, piece: 7, windowSize: 64) == text)
        }
        #expect(found > 500)
    }

    @Test func `damaged documents lose no record that stood before the fault`() throws {
        let first = TrialSeed.first
        let documents = (0..<600).map { ExpatDocument.damaged(seed: first + UInt64($0)) }

        let references = try expat(documents)

        var faults = 0
        for (place, document) in documents.enumerated() {
            let text = try ScannedText(document)
            let reference = records(references[place])
            if references[place].contains("fault") {
                faults += 1
                #expect(
                    Array(records(text.lines).prefix(reference.count)) == reference,
                    "seed \(first) + \(place)")
            } else {
                #expect(records(text.lines) == reference, "seed \(first) + \(place)")
            }
            #expect(try ScannedText(document, piece: 7, windowSize: 64) == text)
        }
        #expect(faults > 200)
    }

    @Test(
        .enabled(if: Generator.isPresent, "CLARITY_EXPORT_GENERATOR names no script"),
        arguments: [["--utc-offset", "+0530"], ["--single-line"]])
    func `a generated export gives what expat finds`(form: [String]) throws {
        let folder = try TemporaryFolder()
        try Generator.run(["--records", "2000", "--out", "\(folder.path)/export.xml"] + form)
        let document = try Files.bytes("\(folder.path)/export.xml")

        let reference = try #require(try expat([document]).first)
        let text = try ScannedText(document)

        #expect(records(reference).count > 2000)
        #expect(text.lines.filter(isRecordOrMetadata) == reference.filter(isRecordOrMetadata))
        #expect(text.report.elements == elements(reference))
        #expect(text.report.malformations == [:])
    }
}
