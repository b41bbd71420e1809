#!lua flags=allow-oom
-- Request a cancel. ARGV: id, tenant, ms within which a running job may end by itself.
-- Returns 'gone', 'ended', 'queued' (the caller ends it) or 'running'.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'tenant', 'lease', 'cancel')
local status = h[1]
if h[2] ~= ARGV[3] then return 'gone' end
if ended(status) then return 'ended' end
if status == 'queued' then
  redis.call('HSET', job_key(id), 'cancel', 1, 'cancel_by', int(now))
  redis.call('ZADD', P .. 'due', int(now), id)
  return 'queued'
end
if not h[4] then
  local by = now + ARGV[4]
  redis.call('HSET', job_key(id), 'cancel', 1, 'cancel_by', int(by))
  redis.call('ZADD', P .. 'due', int(math.min(tonumber(h[3]), by)), id)
  set_status(id, status, 'cancelling')
  progress_event(id)
  redis.call('PUBLISH', P .. 'wake:' .. id, 'cancel')
end
return 'running'
