#!lua
-- Make the webhook of a move of an alias due now. ARGV: the move, '<tenant>/<alias>/<number>', its
-- receiver, '<tenant> <host:port>'. Returns 1, or 0 where it is due or being sent.
local id = ARGV[2]
if redis.call('HSETNX', hook_key(id), 'hook_to', ARGV[3]) == 0 then return 0 end
redis.call('HSET', hook_key(id), 'hook_attempts', 0)
hook_is(id, nil, 'pending')
hook_later(id, ARGV[3], now)
return 1
