import ClarityScheduler
import Reports

// What a run did, in a sentence.
extension Tally {
    /// The counts of a run that read or sent samples, as what became of them; of any other run, the
    /// counts one by one.
    ///
    /// Such as `read 600,240 records: 121,430 sent; 319,309 added up to 2,000 days and nights`.
    var words: String {
        let (read, sent) = (self["samples_read"], self["samples_sent"])
        guard read > 0 || sent > 0, self[Tally.unreported] == 0 else { return summary }
        let queued = [
            "samples_queued", "metrics_queued", "metrics_replaced", "metrics_corrected",
        ].reduce(0) { $0 + self[$1] }
        // Those that were refused may be among the sent ones or not, and without a backend nothing is
        // to be sent.
        let isKnown =
            self["samples_rejected"] + self["samples_set_aside"] == 0
            && !names.contains("samples_new")
        let fates: [(count: Int64, words: String)] = [
            (sent, "sent"),
            (isKnown ? max(0, queued - sent) : 0, sent > 0 ? "to be sent" : "new"),
            (self["samples_new"], "new"),
            (self["samples_duplicate"], "known before"),
            (self["samples_paired"], "second halves of a blood pressure"),
            (
                self["samples_folded"],
                "added up to \(grouped(self["metrics_made"])) days, nights and workouts"
            ),
            (self["samples_repeated"], "repeated"), (self["samples_kept_here"], "kept here only"),
            (self["samples_refused"], "refused"),
            (self["samples_before_since"], "before the time asked for"),
        ]
        var told: Set<String> = [
            "samples_read", "samples_queued", "samples_sent", "samples_duplicate",
            "samples_paired", "samples_folded", "samples_repeated", "samples_kept_here",
            "samples_refused", "samples_before_since", "metrics_made", "metrics_queued",
            "metrics_known", "metrics_replaced", "metrics_corrected", "samples_new", "metrics_new",
        ]
        // What was sent was accepted, unless another count says otherwise.
        if self["samples_accepted"] == sent { told.insert("samples_accepted") }
        let rest = names.filter {
            self[$0] > 0 && !told.contains($0) && !$0.hasPrefix(Tally.answerPrefix)
        }
        let parts =
            fates.filter { $0.count > 0 }.map { "\(grouped($0.count)) \($0.words)" }
            + rest.map { counted(self[$0], $0.replacing("_", with: " ")) }
        let records = read == 0 ? [] : ["read \(grouped(read)) record\(read == 1 ? "" : "s")"]
        let became = parts.isEmpty ? [] : [parts.joined(separator: "; ")]
        return (records + became).joined(separator: ": ")
    }
}
