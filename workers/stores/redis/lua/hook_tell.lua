#!lua flags=allow-oom
-- The result of a leased webhook. ARGV: id, token, status ('delivered', 'failed', or 'pending' if
-- it is sent again), attempts, ms until the next one, reason of the failure or '', whether its
-- receiver was slow ('1', '0' or '': it was not tried). Returns 'ok', 'gone', or 'lost' if another
-- process has leased it.
local id, what = ARGV[2], ARGV[4]
local h = redis.call('HMGET', hook_key(id), 'hook_to', 'hook_token', 'hook')
if not h[1] then return 'gone' end
if h[2] ~= ARGV[3] then return 'lost' end
if ARGV[8] == '1' then
  redis.call('ZADD', P .. 'hooks_slow', int(now), h[1])
  redis.call('ZREMRANGEBYRANK', P .. 'hooks_slow', 0, -10001)
elseif ARGV[8] == '0' then
  redis.call('ZREM', P .. 'hooks_slow', h[1])
end
redis.call('HSET', hook_key(id), 'hook_attempts', ARGV[5], 'hook_reason', ARGV[7])
if what == 'pending' then hook_later(id, h[1], now + ARGV[6]) else hook_over(id, h[1]) end
hook_is(id, h[3], what)
if what ~= 'pending' and hook_of_move(id) then redis.call('DEL', hook_key(id)) end
return 'ok'
