/// What a run waits for that the words of `needs` do not allow: a login, or a source file.
let awaitsHistoryVersion = """
    ALTER TABLE runs ADD COLUMN awaits TEXT
        CONSTRAINT awaits_words CHECK (awaits = 'login' OR awaits = 'source')
        CONSTRAINT awaits_state CHECK (awaits IS NULL OR state <> 'running');
    """
