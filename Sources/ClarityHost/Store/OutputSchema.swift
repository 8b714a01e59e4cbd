/// Version 4: the output of attempts' programs, where it is kept; deleted with the attempt.
let outputHistoryVersion = """
    CREATE TABLE attempt_outputs (
        run_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        head BLOB NOT NULL,
        left_out_bytes INTEGER NOT NULL CHECK (left_out_bytes >= 0),
        tail BLOB NOT NULL,
        PRIMARY KEY (run_id, number),
        FOREIGN KEY (run_id, number) REFERENCES attempts (run_id, number) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    """
