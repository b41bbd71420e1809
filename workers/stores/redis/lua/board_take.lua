#!lua flags=allow-oom
-- Take a free piece of a running job. ARGV: id, token, lease ms, how often a piece may be taken
-- before it is reserved for the attempt itself. Returns {} or {fence, piece, its JSON}.
local id = ARGV[2]
local fence = redis.call('HGET', job_key(id), 'fence')
if not goes_on(id, fence) then return {} end
local key = board_key(id, fence)
while true do
  local k = redis.call('ZRANGEBYSCORE', key .. ':left', '-inf', int(now), 'LIMIT', 0, 1)[1]
  if not k then return {} end
  if redis.call('HINCRBY', key, 'c' .. k, 1) <= tonumber(ARGV[5]) then
    redis.call('HSET', key, 't' .. k, ARGV[3])
    redis.call('HINCRBY', key, 'out', 1)
    redis.call('ZADD', key .. ':left', int(now + ARGV[4]), k)
    return { fence, k, redis.call('HGET', key, 'p' .. k) }
  end
  redis.call('ZADD', key .. ':left', '+inf', k)
  redis.call('SADD', key .. ':own', k)
end
