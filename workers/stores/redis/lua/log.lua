#!lua flags=allow-oom
-- Append a log event for the holder of a lease. ARGV: id, fence, line as JSON.
local h = redis.call('HMGET', job_key(ARGV[2]), 'status', 'fence')
if not h[1] or ended(h[1]) or h[2] ~= ARGV[3] then return 'lost' end
event(ARGV[2], 'log', ARGV[4])
return 'on'
