#!lua flags=allow-oom
-- Take the next job out of its lane, in the order of the tenants' turns. ARGV: jobs in a turn of
-- each tenant that has more than one (JSON), ms until the job is due, the lanes, the first one
-- first. Returns the job's id, or '' if none waits. A job that is taken and not claimed is put back
-- when it is due.
local shares = cjson.decode(ARGV[2])
for i = 4, #ARGV do
  local lane = ARGV[i]
  local turns = P .. 'turns:' .. lane
  while true do
    local tenant = redis.call('ZRANGE', turns, 0, 0)[1]
    if not tenant then break end
    local id = redis.call('ZPOPMIN', P .. 'lane:' .. lane .. ':' .. tenant)[1]
    if not id then
      redis.call('ZREM', turns, tenant)
    elseif redis.call('HGET', job_key(id), 'status') == 'queued' then
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
