internal import ClarityJobs
