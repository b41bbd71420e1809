#!lua flags=allow-oom
-- The next step of the attempt itself. ARGV: id, fence, number of done pieces that it has received,
-- then the pieces it has finished. Returns {'lost'}, {'done', '<piece> <token>'}, {'take', piece}
-- or {'wait'}.
local id, fence = ARGV[2], ARGV[3]
local key = board_key(id, fence)
if not goes_on(id, fence) or redis.call('EXISTS', key) == 0 then return { 'lost' } end
local mine = redis.call('HGET', key, 'mine')
for i = 5, #ARGV do
  if redis.call('ZREM', key .. ':left', ARGV[i]) == 1 then count('pieces owner') end
  redis.call('SREM', key .. ':own', ARGV[i])
  if ARGV[i] == mine then
    redis.call('HDEL', key, 'mine')
    mine = false
  end
end
local done = redis.call('LINDEX', key .. ':done', ARGV[4])
if done then return { 'done', done } end
if not mine then
  mine = redis.call('SRANDMEMBER', key .. ':own')
    or redis.call('ZRANGEBYSCORE', key .. ':left', '-inf', int(now), 'LIMIT', 0, 1)[1]
  if not mine then return { 'wait' } end
  redis.call('SREM', key .. ':own', mine)
  redis.call('ZADD', key .. ':left', '+inf', mine)
  redis.call('HSET', key, 'mine', mine, 't' .. mine, fence)
end
return { 'take', mine }
