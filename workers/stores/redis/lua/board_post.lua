#!lua
-- Post the pieces of a fit on its board, replacing earlier ones. ARGV: id, fence, tenant, ms until
-- a sweeper checks the board, number of the first piece, the pieces. Returns 'on' or 'lost'.
local id, fence, first = ARGV[2], ARGV[3], ARGV[6]
local key = board_key(id, fence)
if not goes_on(id, fence) then return 'lost' end
if redis.call('HGET', key, 'first') == first then return 'on' end
local out = redis.call('HGET', key, 'out') or 0
redis.call('DEL', key, key .. ':left', key .. ':own')
redis.call('HSET', key, 'first', first, 'out', out)
for i = 7, #ARGV do
  local k = int(first + i - 7)
  redis.call('HSET', key, 'p' .. k, ARGV[i])
  redis.call('ZADD', key .. ':left', k, k)
end
redis.call('ZADD', P .. 'boards', int(now + ARGV[5]), id .. ' ' .. fence .. ' ' .. ARGV[4])
return 'on'
