#!lua flags=allow-oom
-- A helper's report on the piece it holds. ARGV: id, fence, piece, token, lease ms, and the report:
-- 'beat'; 'done'; 'back' (free again); 'forgiven' (free again, not counted as taken); 'own'
-- (reserved for the attempt). Returns 'on', or 'lost' if the helper no longer holds the piece.
local id, fence, k, what = ARGV[2], ARGV[3], ARGV[4], ARGV[7]
local key = board_key(id, fence)
if not goes_on(id, fence) or redis.call('HGET', key, 't' .. k) ~= ARGV[5] then return 'lost' end
if not redis.call('ZSCORE', key .. ':left', k) then
  -- Finished and still the helper's: it has reported 'done' before, and the reply got lost.
  return what == 'done' and 'on' or 'lost'
end
if what ~= 'beat' then redis.call('HINCRBY', key, 'out', -1) end
if what == 'beat' then
  redis.call('ZADD', key .. ':left', int(now + ARGV[6]), k)
elseif what == 'done' then
  redis.call('ZREM', key .. ':left', k)
  redis.call('SREM', key .. ':own', k)
  redis.call('RPUSH', key .. ':done', k .. ' ' .. ARGV[5])
  count('pieces helper')
else
  redis.call('HDEL', key, 't' .. k)
  redis.call('ZADD', key .. ':left', what == 'own' and '+inf' or k, k)
  if what == 'own' then redis.call('SADD', key .. ':own', k) end
  if what == 'forgiven' then redis.call('HINCRBY', key, 'c' .. k, -1) end
end
return 'on'
