import HealthStore
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite struct AnalysisNumbersTests {
    private func result(_ json: String) -> AnalysisResult {
        AnalysisResult(
            of: Analysis(id: "a", state: .completed, isCached: false, json: Array(json.utf8)))
    }

    @Test(
        arguments: [
            (
                #"{"pat_features":{"m10":1.5,"l5":2},"activity_embedding":[1,0.5]}"#,
                ["m10": 1.5, "l5": 2], [1, 0.5]
            ),
            (
                #"{"analysis":{"pat_features":{"m10":1},"activity_embedding":[3]}}"#, ["m10": 1],
                [3]
            ),
            (
                #"{"analysis":{"user_id":"u","sleep_efficiency":91.0,"flag":true,"list":[1],"#
                    + #""embedding":[0.25]},"pat_features":null}"#,
                ["sleep_efficiency": 91], [0.25]
            ),
            (#"{"pat_features":null,"activity_embedding":null}"#, [:], []),
            (#"{"pat_features":[1],"activity_embedding":{"a":1}}"#, [:], []),
            (
                #"{"pat_features":{"a b":1,"":2,"é":3,"ok_1":4},"activity_embedding":[1,"x"]}"#,
                ["ok_1": 4], []
            ),
            ("no JSON", [:], []),
        ] as [(String, [String: Double], [Double])])
    func `the numbers and the embedding are found where a dialect has them`(
        json: String, numbers: [String: Double], embedding: [Double]
    ) {
        let found = result(json)

        #expect(found.numbers == numbers)
        #expect(found.embedding == embedding)
        #expect(found.json == Array(json.utf8))
    }

    @Test func `no more is kept than fits`() {
        let names = (100..<300).map { #""n\#($0)":\#($0)"# }.joined(separator: ",")
        let point = (0...AnalysisResult.longestEmbedding).map { "\($0)" }.joined(separator: ",")
        let long = String(repeating: "a", count: 65)

        let found = result(
            #"{"pat_features":{\#(names),"\#(long)":1},"activity_embedding":[\#(point)]}"#)
        let large = result(
            #"{"pat_features":{"a":1},"x":"\#(String(repeating: "x", count: 1 << 20))"}"#)

        #expect(found.numbers.count == 64)
        #expect(found.numbers["n163"] == 163 && found.numbers["n164"] == nil)
        #expect(found.embedding == [])
        #expect(large.numbers == ["a": 1] && large.json == [])
    }
}
