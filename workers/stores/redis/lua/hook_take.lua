#!lua flags=allow-oom
-- Lease webhooks that are due. ARGV: token, largest number of webhooks, lease ms, largest numbers
-- of concurrent webhooks to one receiver and for one tenant. Returns rows of {id, tenant,
-- attempts}.
local taken = {}
local left = tonumber(ARGV[3])
local until_ms = now + ARGV[4]
for _, to in ipairs(redis.call('ZRANGEBYSCORE', P .. 'hooks', '-inf', int(now), 'LIMIT', 0, 500)) do
  if left == 0 then break end
  local tenant, place = hook_parts(to)
  local busy = P .. 'hooks_busy:' .. tenant
  redis.call('ZREMRANGEBYSCORE', busy, '-inf', int(now))
  local sending, here, ends = redis.call('ZRANGE', busy, 0, -1, 'WITHSCORES'), 0, nil
  for i = 1, #sending, 2 do
    if string.sub(sending[i], 1, #place + 1) == place .. ' ' then
      here, ends = here + 1, ends or sending[i + 1]
    end
  end
  local spare = ARGV[6] - #sending / 2
  if spare <= 0 then
    redis.call('ZADD', P .. 'hooks_held:' .. tenant, 'NX', int(now), to)
    if ends then redis.call('ZADD', P .. 'hooks', int(tonumber(ends)), to)
    else redis.call('ZREM', P .. 'hooks', to) end
  else
    local room = math.min(left, ARGV[5] - here, spare)
    local due = {}
    if room > 0 then
      due = redis.call('ZRANGEBYSCORE', P .. 'hooks:' .. to, '-inf', int(now), 'LIMIT', 0, room)
    end
    for _, id in ipairs(due) do
      local h = redis.call('HMGET', hook_key(id), 'hook', 'hook_attempts')
      if h[1] == 'pending' then
        redis.call('HSET', hook_key(id), 'hook_token', ARGV[2])
        redis.call('ZADD', P .. 'hooks:' .. to, int(until_ms), id)
        redis.call('ZADD', busy, int(until_ms), place .. ' ' .. id)
        taken[#taken + 1] = { id, tenant, tonumber(h[2]) }
        left = left - 1
        spare = spare - 1
      else
        redis.call('ZREM', P .. 'hooks:' .. to, id)
      end
    end
    hook_look(to)
    -- A receiver at its limit moves behind the others.
    local at = redis.call('ZSCORE', P .. 'hooks', to)
    if at and tonumber(at) <= now then redis.call('ZADD', P .. 'hooks', int(now), to) end
    hook_let_out(tenant, spare)
  end
end
return taken
