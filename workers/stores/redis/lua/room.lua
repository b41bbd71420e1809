#!lua flags=allow-oom
-- Whether a job would exceed a limit. ARGV: tenant, key or '', bytes, datasets, queued, limits as
-- JSON. Returns {} or what `exceeded` does.
local needed = { bytes = tonumber(ARGV[4]), datasets = tonumber(ARGV[5]), queued = tonumber(ARGV[6]) }
return exceeded(ARGV[7], ARGV[2], ARGV[3], needed, true, '') or {}
