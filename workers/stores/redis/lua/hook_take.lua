#!lua flags=allow-oom
-- Lease webhooks that are due. ARGV: token, largest number of webhooks (the free senders of the
-- process), lease ms, largest numbers of concurrent webhooks to one receiver and for one tenant, how
-- many of them may go to slow receivers, then of each tenant whose webhooks the process sends it and
-- their number. Returns rows of {id, tenant, attempts, 1 or 0: whether its receiver is slow}.
--
-- A tenant has at most as many senders of a process as it leaves free, so that one is left for
-- another tenant. Slow receivers come after the others.
local taken, slow, sent_here = {}, {}, {}
local left, slow_left = tonumber(ARGV[3]), tonumber(ARGV[7])
for i = 8, #ARGV, 2 do sent_here[ARGV[i]] = tonumber(ARGV[i + 1]) end

local function share(tenant) return math.floor((left - (sent_here[tenant] or 0) + 1) / 2) end

local function look(to, most)
  local tenant, place = hook_parts(to)
  local busy = hook_busy(tenant)
  local sending, here, ends = redis.call('ZRANGE', busy, 0, -1, 'WITHSCORES'), 0, nil
  for i = 1, #sending, 2 do
    if string.sub(sending[i], 1, #place + 1) == place .. ' ' then
      here, ends = here + 1, ends or sending[i + 1]
    end
  end
  local spare, n = ARGV[6] - #sending / 2, 0
  if math.min(spare, share(tenant)) <= 0 then
    -- Only a lease that ends lets it out.
    if #sending == 0 then redis.call('ZADD', P .. 'hooks', int(now), to)
    else
      redis.call('ZADD', P .. 'hooks_held:' .. tenant, 'NX', int(now), to)
      if ends then redis.call('ZADD', P .. 'hooks', int(tonumber(ends)), to)
      else redis.call('ZREM', P .. 'hooks', to) end
    end
    return 0
  end
  local room = math.min(most, ARGV[5] - here, spare, share(tenant))
  local due = {}
  if room > 0 then
    due = redis.call('ZRANGEBYSCORE', P .. 'hooks:' .. to, '-inf', int(now), 'LIMIT', 0, room)
  end
  for _, id in ipairs(due) do
    local h = redis.call('HMGET', hook_key(id), 'hook', 'hook_attempts')
    if h[1] == 'pending' then
      redis.call('HSET', hook_key(id), 'hook_token', ARGV[2])
      redis.call('ZADD', P .. 'hooks:' .. to, int(now + ARGV[4]), id)
      redis.call('ZADD', busy, int(now + ARGV[4]), place .. ' ' .. id)
      taken[#taken + 1] = { id, tenant, tonumber(h[2]), hook_slow(to) and 1 or 0 }
      n = n + 1
    else
      redis.call('ZREM', P .. 'hooks:' .. to, id)
    end
  end
  left = left - n
  sent_here[tenant] = (sent_here[tenant] or 0) + n
  hook_look(to)
  -- A receiver at its limit moves behind the others.
  local at = redis.call('ZSCORE', P .. 'hooks', to)
  if at and tonumber(at) <= now then redis.call('ZADD', P .. 'hooks', int(now), to) end
  hook_let_out(tenant, spare - n)
  return n
end

-- What waits for a share of this process, which has grown since.
for i = 8, #ARGV, 2 do
  local spare = ARGV[6] - redis.call('ZCARD', hook_busy(ARGV[i]))
  hook_let_out(ARGV[i], math.min(spare, share(ARGV[i])))
end
for _, to in ipairs(redis.call('ZRANGEBYSCORE', P .. 'hooks', '-inf', int(now), 'LIMIT', 0, 500)) do
  if left == 0 then break end
  if hook_slow(to) then slow[#slow + 1] = to else look(to, left) end
end
for _, to in ipairs(slow) do
  if left == 0 then break end
  if slow_left > 0 then slow_left = slow_left - look(to, math.min(left, slow_left))
  else redis.call('ZADD', P .. 'hooks', int(now + 1000), to) end
end
return taken
