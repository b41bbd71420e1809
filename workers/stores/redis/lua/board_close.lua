#!lua flags=allow-oom
-- Remove the board of an attempt. ARGV: id, fence, tenant, ms until a sweeper checks again where a
-- helper may still store a piece. Returns 1, or 0 where a sweeper will check.
local key, row = board_key(ARGV[2], ARGV[3]), ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4]
if redis.call('EXISTS', key) == 0 and tonumber(redis.call('ZSCORE', P .. 'boards', row) or 0) > now then
  -- It was closed before, and the reply got lost.
  return 0
end
local late = board_drop(key)
redis.call('ZADD', P .. 'boards', int(late and now + ARGV[5] or now), row)
return late and 0 or 1
