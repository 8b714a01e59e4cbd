/// Version 3: the condition that a run itself needs, beyond its job's constraints.
let thirdHistoryVersion = """
    ALTER TABLE runs ADD COLUMN needs TEXT
        CHECK (needs = 'external_power' OR needs = 'network_unmetered')
        CHECK (needs IS NULL OR state <> 'running');
    """
