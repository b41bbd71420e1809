#!lua flags=allow-oom
-- Take the board of an attempt away. ARGV: id, fence, tenant. Answers 1, or 0 where a helper may
-- still be at work and a sweeper is to look after that.
local until_ms = board_drop(board_key(ARGV[2], ARGV[3]))
redis.call('ZADD', P .. 'boards', int(until_ms), ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
return until_ms > now and 0 or 1
