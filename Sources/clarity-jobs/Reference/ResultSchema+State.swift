import Reports

// The results of the commands on the login, the key and backups.

extension ResultSchema {
    // MARK: The login

    static var login: [Field] {
        [
            .init("email", .text, "address of the account"),
            .init("user_id", .text, "id of the account"),
            .init("backend", .text, "address of the backend"),
            .init("expires_at", .instant, "when the access token expires"),
        ]
    }

    static var register: [Field] {
        [
            .init("email", .text, "address of the new account"),
            .init(
                "needs_verification", .boolean, "whether `auth verify` has to confirm the address"),
        ]
    }

    static var resetPassword: [Field] {
        [
            .init("email", .text, "address of the account"),
            .init(
                "reset", .boolean,
                "whether there is a new password; otherwise a code for it was mailed"),
        ]
    }

    static var authStatus: [Field] {
        login + [
            .init(maybe: "logged_in_at", .instant, "when the login was made"),
            .init(maybe: "renewed_at", .instant, "when the access token was last renewed"),
            .init(
                maybe: "renewal_refused_since", .instant,
                "since when the backend refuses to renew the session; jobs wait for a login"),
            .init(
                maybe: "last_refusal",
                .object([
                    .init("at", .instant, "when it was refused"),
                    .init("reason", .text, "why"),
                ]), "the last refusal of a login"),
            .init("logins_left", .integer, "number of logins that are allowed now"),
            .init(maybe: "next_login_at", .instant, "when one more is allowed"),
        ]
    }

    static var logout: [Field] {
        [
            .init("logged_out", .boolean, "true"),
            .init(
                maybe: "removed", .map(.integer),
                "number of removed entries by kind; none if data stays"),
        ]
    }

    // MARK: The accounts of a job file

    // MARK: The key and backups

    static var keyRotate: [Field] {
        [
            .init("rows", .integer, "number of rows that are sealed with the new key"),
            .init("damaged", .integer, "number of rows that were damaged before"),
            .init(maybe: "resumed_from", .instant, "start of the rotation that was finished"),
            .init(maybe: "put_new_key_into", .text, "where you have to put the new key"),
        ]
    }

    static var keyStatus: [Field] {
        [
            .init("place", .text, "where the key is"),
            .init(maybe: "since", .instant, "since when it is in use"),
            .init("changes", .integer, "number of rotations"),
            .init(
                maybe: "rotation",
                .object([
                    .init("begun_at", .instant, "start of the rotation"),
                    .init("under_way", .boolean, "whether a process works on it"),
                    .init("new_rows", .integer, "number of rows with the new key"),
                    .init("former_rows", .integer, "number of rows with the former key"),
                ]), "a rotation that is not finished"),
        ]
    }

    static var backup: [Field] {
        [
            .init("name", .text, "name of the backup"),
            .init("path", .text, "its path"),
            .init("made_at", .instant, "when it was made"),
            .init("reason", .text, "why it was made"),
            .init("program", .text, "version of the program that made it"),
            .init(maybe: "key", .text, "name of the master key that opens it"),
            .init("size_bytes", .integer, "size of all files"),
            .init(
                "files",
                .list(
                    .object([
                        .init("name", .text, "name of the file"),
                        .init("version", .integer, "version of its schema"),
                        .init("size_bytes", .integer, "its size"),
                        .init("sha256", .text, "its SHA-256"),
                    ])), "the files"),
        ]
    }

    static var faultyBackup: [Field] {
        [
            .init("name", .text, "name of the backup"),
            .init("fault", .text, "why it cannot be used"),
        ]
    }

    static var restore: [Field] {
        [
            .init("dry_run", .boolean, "whether nothing was changed"),
            .init("resumed", .boolean, "whether an interrupted restore was finished"),
            .init(
                "restored",
                .list(
                    .object([
                        .init("file", .text, "name of the file"),
                        .init("backup", .text, "name of the backup"),
                        .init("as_of", .instant, "when the backup was made"),
                        .init(maybe: "fault", .text, "what was wrong with the file"),
                    ])), "the restored files"),
            .init(
                "not_restored",
                .list(
                    .object([
                        .init("file", .text, "name of the file"),
                        .init("fault", .text, "what is wrong with it"),
                    ])), "damaged files that no backup has"),
            .init("passed_over", .list(.text), "backups that cannot be used, in words"),
            .init(
                maybe: "pending", .list(.text), "files that an interrupted restore has left to do"),
            .init(maybe: "not_taken", .text, "the backup that was not restored yet"),
            .init(maybe: "aside", .text, "where the former files are"),
            .init(maybe: "keeps_log", .boolean, "whether the audit log continues"),
            .init(maybe: "keeps_session", .boolean, "whether the login stays"),
            .init(
                maybe: "possibly_sent_samples", .integer,
                "number of samples that may have been sent since"),
            .init(maybe: "samples_on_hold", .integer, "number of these that wait for a person"),
        ]
    }
}
