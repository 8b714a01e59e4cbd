/// Version 3: what a run itself needs to go on, beyond the constraints of its job.
let thirdHistoryVersion = """
    ALTER TABLE runs ADD COLUMN needs TEXT
        CHECK (needs = 'external_power' OR needs = 'network_unmetered')
        CHECK (needs IS NULL OR state <> 'running');
    """
