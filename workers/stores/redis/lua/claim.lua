#!lua flags=allow-oom
-- Claim a job. ARGV: id, fence, lease ms, max attempts, worker. Returns what `claim` does.
return claim(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
