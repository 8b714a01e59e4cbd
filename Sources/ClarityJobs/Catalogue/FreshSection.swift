import ClarityScheduler

extension SectionDeclaration {
    /// The maximum age of the data, one goal for each kind; `FreshnessGoal` reads it.
    static let fresh = SectionDeclaration(
        "fresh",
        .mapping(
            SampleKind.allCases.map { kind in
                OptionDeclaration(
                    kind.rawValue, span,
                    summary: "how old the newest sample may be that the backend has taken")
            } + [
                OptionDeclaration(
                    "insights", span, summary: "how old the newest insight may be"),
                OptionDeclaration(
                    "profile", span, summary: "how long ago the profile may have been pulled"),
            ]))

    private static let span = OptionDeclaration.Form.duration(.seconds(60)...days(3660))
}
