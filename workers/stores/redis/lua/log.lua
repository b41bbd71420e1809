#!lua flags=allow-oom
-- Append a log event for the holder of a lease. ARGV: id, fence, line as JSON.
if redis.call('HGET', job_key(ARGV[2]), 'fence') ~= ARGV[3] then return 'lost' end
event(ARGV[2], 'log', ARGV[4])
return 'on'
