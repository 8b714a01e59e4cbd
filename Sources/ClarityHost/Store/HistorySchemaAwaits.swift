/// Version 5: a run may wait for a login or a source file, words that the CHECK of `needs` refuses.
let awaitsHistoryVersion = """
    ALTER TABLE runs ADD COLUMN awaits TEXT
        CONSTRAINT awaits_words CHECK (awaits = 'login' OR awaits = 'source')
        CONSTRAINT awaits_state CHECK (awaits IS NULL OR state <> 'running');
    """
