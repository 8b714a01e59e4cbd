/// Version 7: the last boot for which runs were enqueued, in one row, so that the restart of a
/// scheduler does not count as a boot.
let bootHistoryVersion = """
    CREATE TABLE boot_mark (
        id INTEGER PRIMARY KEY CONSTRAINT boot_mark_id CHECK (id = 1),
        boot TEXT NOT NULL
    ) STRICT;
    """
