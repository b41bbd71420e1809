#!lua flags=allow-oom
-- Claim a job. ARGV: id, fence, lease ms, max attempts, worker, jobs of each tenant that may run
-- (JSON or ''). Returns what `claim` of shared.lua does.
return claim(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7])
