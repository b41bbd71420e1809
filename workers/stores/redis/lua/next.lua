#!lua flags=allow-oom
-- Take the next job out of its lane, in the order of the tenants' turns. ARGV: jobs in a turn of
-- each tenant that has more than one (JSON), ms until the job is due, jobs of each tenant that may
-- run (JSON or ''), the lanes, the first one first. Returns the job's id, or '' if none waits. A job that is taken and not claimed is put back
-- when it is due.
local shares = cjson.decode(ARGV[2])
for i = 5, #ARGV do
  local lane = ARGV[i]
  local turns = P .. 'turns:' .. lane
  while true do
    local tenant = redis.call('ZRANGE', turns, 0, 0)[1]
    if not tenant then break end
    local most = runs_most(ARGV[4], tenant)
    local parked = most and string.sub(lane, -6) ~= ':quick'
    local id = not parked and redis.call('ZPOPMIN', P .. 'lane:' .. lane .. ':' .. tenant)[1]
    local h = id and redis.call('HMGET', job_key(id), 'status', 'listed', 'key', 'key_running')
    if parked then
      redis.call('ZREM', turns, tenant)
      redis.call('SADD', P .. 'parked:' .. tenant, lane)
    elseif not id then
      redis.call('ZREM', turns, tenant)
    elseif h[1] == 'queued' and h[2] == '1' and most then
      redis.call('ZADD', P .. 'held:' .. tenant, 0, id)
    elseif h[1] == 'queued' and (h[4] or '') ~= ''
        and used(tenant, h[3], 'running') >= tonumber(h[4]) then
      redis.call('ZADD', P .. 'held:' .. tenant .. ':' .. h[3], 0, id)
    elseif h[1] == 'queued' then
      local n_taken = redis.call('HINCRBY', P .. 'shares:' .. lane, tenant, 1)
      if n_taken >= (shares[tenant] or 1) then
        local turn = redis.call('INCR', P .. 'turn')
        redis.call('HDEL', P .. 'shares:' .. lane, tenant)
        redis.call('HSET', P .. 'taken:' .. lane, tenant, turn)
        redis.call('ZADD', turns, turn, tenant)
      end
      redis.call('ZADD', P .. 'due', int(now + ARGV[3]), id)
      return id
    end
  end
end
return ''
