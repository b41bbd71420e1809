#!lua
-- Take requests out of buckets, or out of none if one has too few. ARGV: requests (0: look only),
-- then for each bucket its name, the most that it holds, and how many it gains a second. Returns for
-- each {left, or -1 if it had too few; seconds until it has a request; seconds until it is full}.
-- `rate:<name>` has the time in ms at which the bucket is full again, and is gone by then.
local n, rows, full_at, enough = tonumber(ARGV[2]), {}, {}, true
for i = 3, #ARGV, 3 do
  local size, ms = tonumber(ARGV[i + 1]), 1000 / tonumber(ARGV[i + 2])
  local at = math.max(now, tonumber(redis.call('GET', P .. 'rate:' .. ARGV[i]) or '0'))
  -- After a change of the limit it is no emptier than empty.
  at = math.min(at, now + size * ms)
  local left = math.floor((now + size * ms - at) / ms + 1e-9)
  if left < n then enough = false end
  full_at[i] = { at, left, ms, size }
end
for i = 3, #ARGV, 3 do
  local at, left, ms, size = unpack(full_at[i])
  if enough and n > 0 then
    at, left = at + n * ms, left - n
    redis.call('SET', P .. 'rate:' .. ARGV[i], string.format('%.3f', at), 'PX',
      math.max(1, math.ceil(at - now)))
  elseif left < n then left = -1 end
  local short = math.max(0, at - now - (size - 1) * ms)
  rows[#rows + 1] = { string.format('%d', left), string.format('%.3f', short / 1000),
    string.format('%.3f', (at - now) / 1000) }
end
return rows
