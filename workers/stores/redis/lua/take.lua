#!lua flags=allow-oom
-- Take the next job out of its lane, in the order of the tenants' turns, and claim it. ARGV: jobs in
-- a turn of each tenant that has more than one (JSON), fence, lease ms, max attempts, worker, jobs of
-- each tenant that may run (JSON or ''), tenants that get no turn (JSON), the lanes, the first one
-- first. Returns {} if none waits that is not paused, else {id, tenant} and what `claim` does. The same fence gets the same job again: a client repeats a call whose answer was lost.
local shares, fence = cjson.decode(ARGV[2]), ARGV[3]
local without, n_without = {}, 0
for _, tenant in ipairs(cjson.decode(ARGV[8])) do
  without[tenant], n_without = true, n_without + 1
end
local memory = P .. 'take:' .. fence

-- Whose turn it is in a lane.
local function next_tenant(turns)
  for _, tenant in ipairs(redis.call('ZRANGE', turns, 0, n_without)) do
    if not without[tenant] then return tenant end
  end
end

local function next_job()
  local before = redis.call('GET', memory)
  if before then return before end
  -- Redis may lack pauses that the store has, until the next rebuild.
  if redis.call('HEXISTS', P .. 'pauses', 'known') == 0 or paused('worker', ARGV[6]) then return nil end
  for i = 9, #ARGV do
    local lane = ARGV[i]
    local turns = P .. 'turns:' .. lane
    while not lane_paused(lane) do
      local tenant = next_tenant(turns)
      if not tenant then break end
      local most = runs_most(ARGV[7], tenant)
      local parked = most and string.sub(lane, -6) ~= ':quick' or paused('tenant', tenant)
      local id = not parked and redis.call('ZPOPMIN', P .. 'lane:' .. lane .. ':' .. tenant)[1]
      local h = id and redis.call('HMGET', job_key(id), 'status', 'listed', 'key', 'key_running',
        'method')
      if parked then
        redis.call('ZREM', turns, tenant)
        redis.call('SADD', P .. 'parked:' .. tenant, lane)
      elseif not id then
        redis.call('ZREM', turns, tenant)
      elseif h[1] == 'queued' and paused('method', h[5]) then
        redis.call('ZADD', P .. 'paused:' .. h[5], 0, id)
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
        return id
      end
    end
  end
end

local id = next_job()
if not id then return {} end
redis.call('SET', memory, id, 'PX', 10000)
local tenant = redis.call('HGET', job_key(id), 'tenant')
return { id, tenant or '', unpack(claim(id, fence, ARGV[4], ARGV[5], ARGV[6], ARGV[7])) }
