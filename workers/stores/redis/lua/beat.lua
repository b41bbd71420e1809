#!lua flags=allow-oom
-- Renew a lease. ARGV: id, fence, lease ms, progress or ''. Returns 'on', 'cancel' or 'lost'.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'cancel_by', 'progress')
if not h[1] or ended(h[1]) or h[2] ~= ARGV[3] then return 'lost' end
local lease = now + ARGV[4]
redis.call('HSET', job_key(id), 'lease', int(lease))
redis.call('ZADD', P .. 'due', int(math.min(lease, tonumber(h[3]) or lease)), id)
if ARGV[5] ~= '' and ARGV[5] ~= h[4] then
  redis.call('HSET', job_key(id), 'progress', ARGV[5])
  touch(id)
  progress_event(id)
end
if h[3] then return 'cancel' end
return 'on'
