/// Version 6: the occurrence that a coalesced run stands for, and a server's Retry-After.
let patienceHistoryVersion = """
    -- The latest of the occurrences that were coalesced into a waiting run: it stands for that one.
    ALTER TABLE runs ADD COLUMN latest_occurrence_ms INTEGER;
    -- Before this instant a server wants no attempt of the job.
    ALTER TABLE job_records ADD COLUMN retry_after_ms INTEGER;
    """
