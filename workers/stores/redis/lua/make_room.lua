#!lua flags=allow-oom
-- Whether an attempt makes room for shorter work. ARGV: the job, its fence, ms for which that work has
-- waited at least, ms within which no other attempt makes room for the same lane, jobs of each tenant
-- that may run (JSON or ''), the lanes of the shorter work. Returns 1 if a job that may run waits in
-- one of them, else 0. The same fence gets the same answer for that long.
local fence = ARGV[3]
if redis.call('HGET', job_key(ARGV[2]), 'fence') ~= fence then return 0 end

local function waits(lane)
  for _, tenant in ipairs(redis.call('ZRANGE', P .. 'turns:' .. lane, 0, -1)) do
    local first = redis.call('ZRANGE', P .. 'lane:' .. lane .. ':' .. tenant, 0, 0)[1]
    local h = first and redis.call('HMGET', job_key(first), 'status', 'listed', 'key', 'key_running',
      'queued_at', 'method')
    if h and h[1] == 'queued' and h[5] and now - h[5] >= tonumber(ARGV[4])
        and not paused('tenant', tenant) and not paused('method', h[6])
        and not (h[2] == '1' and runs_most(ARGV[6], tenant))
        and not ((h[4] or '') ~= '' and used(tenant, h[3], 'running') >= tonumber(h[4])) then
      return true
    end
  end
  return false
end

for i = 7, #ARGV do
  local room = P .. 'room:' .. ARGV[i]
  local maker = redis.call('GET', room)
  if maker == fence then return 1 end
  if not maker and not lane_paused(ARGV[i]) and waits(ARGV[i]) then
    redis.call('SET', room, fence, 'PX', ARGV[5])
    return 1
  end
end
return 0
