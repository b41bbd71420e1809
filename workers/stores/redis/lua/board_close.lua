#!lua flags=allow-oom
-- Remove the board of an attempt. ARGV: id, fence, tenant. Returns 1, or 0 if a helper may still be
-- at work, so that a sweeper must check again later.
local until_ms = board_drop(board_key(ARGV[2], ARGV[3]))
redis.call('ZADD', P .. 'boards', int(until_ms), ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
return until_ms > now and 0 or 1
