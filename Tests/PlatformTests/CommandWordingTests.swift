import Platform
import Testing

/// Tests that a text about an account shows commands as a person has to type them.
@Suite struct CommandWordingTests {
    @Test(arguments: [
        (
            "waits for a login; run `clarity-jobs auth login`",
            "waits for a login; run `clarity-jobs --account anna auth login`"
        ),
        (
            "`clarity-jobs outbox` or `clarity-jobs audit`",
            "`clarity-jobs --account anna outbox` or `clarity-jobs --account anna audit`"
        ),
        ("`clarity-jobs --account ben auth login`", "`clarity-jobs --account ben auth login`"),
        ("`clarity-jobs accounts list`", "`clarity-jobs accounts list`"),
        ("clarity-jobs: no command", "clarity-jobs: no command"),
        ("", ""), ("`clarity-jobs `", "`clarity-jobs --account anna `"),
    ])
    func `each command names the account of the text`(text: String, wanted: String) {
        #expect(text.namingAccount("anna") == wanted)
        #expect(text.namingAccount(nil) == text)
    }
}
