#!lua flags=no-writes,allow-oom
-- How long each lane is, and since when its jobs wait. ARGV: the lanes. Returns for each {number of
-- jobs, time in ms since when the one waits that has waited longest among those that are next in
-- their tenant's turn; 0 without jobs}. O(tenants that wait).
local rows = {}
for i = 2, #ARGV do
  local length, since = 0, 0
  for _, tenant in ipairs(redis.call('ZRANGE', P .. 'turns:' .. ARGV[i], 0, -1)) do
    local key = P .. 'lane:' .. ARGV[i] .. ':' .. tenant
    local first = redis.call('ZRANGE', key, 0, 0)[1]
    if first then
      length = length + redis.call('ZCARD', key)
      local h = redis.call('HMGET', job_key(first), 'queued_at', 'base')
      local at = tonumber(h[1] or h[2]) or 0
      if at > 0 and (since == 0 or at < since) then since = at end
    end
  end
  rows[#rows + 1] = { length, int(since) }
end
rows[#rows + 1] = int(now)
return rows
