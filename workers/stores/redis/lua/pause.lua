#!lua flags=allow-oom
-- Pause or resume jobs. ARGV: the scope, the name, the pause as JSON, or '' to resume. What waited for
-- the end of a pause returns. Returns 1 if it was paused before, else 0. Without a scope: Redis has all
-- pauses, if it still has what the comparison of that name left at its beginning; returns 1, else 0.
if ARGV[2] == '' then
  local kept = redis.call('DEL', P .. 'comparing:' .. ARGV[3])
  if kept == 1 then redis.call('HSET', P .. 'pauses', 'known', '1') end
  return kept
end
local field = ARGV[2] .. ' ' .. ARGV[3]
if ARGV[4] ~= '' then return 1 - redis.call('HSET', P .. 'pauses', field, ARGV[4]) end
local was = redis.call('HDEL', P .. 'pauses', field)
if ARGV[2] == 'tenant' then unpark(ARGV[3])
elseif ARGV[2] == 'method' then
  for _, id in ipairs(redis.call('ZRANGE', P .. 'paused:' .. ARGV[3], 0, -1)) do
    if redis.call('HGET', job_key(id), 'status') == 'queued' then lane_enter(id) end
  end
  redis.call('DEL', P .. 'paused:' .. ARGV[3])
end
return was
