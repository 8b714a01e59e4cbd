/// The boot of the machine whose runs were enqueued last, in one row, so that no restart of a
/// scheduler counts as a boot.
let bootHistoryVersion = """
    CREATE TABLE boot_mark (
        id INTEGER PRIMARY KEY CONSTRAINT boot_mark_id CHECK (id = 1),
        boot TEXT NOT NULL
    ) STRICT;
    """
