#!lua flags=allow-oom
-- Take due jobs and give them a new score, so that no two sweepers take the same job. ARGV: largest
-- number of jobs, ms until they are due again. Returns rows of {id, tenant, queue, fence or '',
-- action} with action 'cancel', 'send' or 'lapsed'.
local taken = {}
-- Jobs in a lane only wait: the more there are, the less often each is looked at.
local longer = ARGV[3] * (1 + math.floor(redis.call('ZCARD', P .. 'due') / 1000))
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'due', '-inf', int(now), 'LIMIT', 0, ARGV[2])) do
  local h = redis.call('HMGET', job_key(id), 'status', 'tenant', 'queue', 'fence', 'cancel_by', 'lease')
  local status = h[1]
  if not status or ended(status) then
    redis.call('ZREM', P .. 'due', id)
  else
    local action, again = nil, now + ARGV[3]
    if h[5] and tonumber(h[5]) <= now then action = 'cancel'
    elseif status == 'queued' then
      action, again = 'send', now + longer
      lane_enter(id)
    elseif tonumber(h[6]) <= now then action = 'lapsed'
    else again = math.min(tonumber(h[6]), tonumber(h[5]) or tonumber(h[6])) end
    redis.call('ZADD', P .. 'due', int(again), id)
    if action then taken[#taken + 1] = { id, h[2], h[3], h[4] or '', action } end
  end
end
return taken
