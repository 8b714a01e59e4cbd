import ClarityScheduler

extension SectionDeclaration {
    /// The maximum age of the data, one goal for each kind; `FreshnessGoal` reads it.
    static let fresh = SectionDeclaration(
        "fresh",
        .mapping(
            SampleKind.allCases.map { kind in
                OptionDeclaration(
                    kind.rawValue, span,
                    summary: "maximum age of the newest sample that the backend has accepted")
            } + [
                OptionDeclaration(
                    "insights", span,
                    summary: "maximum age of the newest insight"),
                OptionDeclaration(
                    "profile", span,
                    summary: "maximum time since the profile was fetched"),
            ]), summary: "how old the newest data may be; `status` checks it")

    private static let span = OptionDeclaration.Form.duration(.seconds(60)...days(3660))
}
