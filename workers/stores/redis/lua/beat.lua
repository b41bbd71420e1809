#!lua flags=allow-oom
-- Renew a lease. ARGV: id, fence, lease ms, progress or ''. Returns 'on', 'cancel' or 'lost'.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'fence', 'cancel_by', 'progress')
-- A job that has ended has none.
if h[1] ~= ARGV[3] then return 'lost' end
local lease = now + ARGV[4]
redis.call('HSET', job_key(id), 'lease', int(lease))
redis.call('ZADD', P .. 'due', int(math.min(lease, tonumber(h[2]) or lease)), id)
if ARGV[5] ~= '' and ARGV[5] ~= h[3] then
  redis.call('HSET', job_key(id), 'progress', ARGV[5])
  touch(id)
  progress_event(id)
end
if h[2] then return 'cancel' end
return 'on'
