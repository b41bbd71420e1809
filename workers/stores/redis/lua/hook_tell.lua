#!lua flags=allow-oom
-- The result of a webhook that was taken. ARGV: id, token, what ('delivered', 'failed', 'pending':
-- it is sent again), times it was sent, ms until then, why it failed or ''. Answers 'ok', 'gone',
-- or 'lost': another process sends it.
local id, what = ARGV[2], ARGV[4]
local h = redis.call('HMGET', job_key(id), 'hook_to', 'hook_token', 'hook')
if not h[1] then return 'gone' end
if h[2] ~= ARGV[3] then return 'lost' end
redis.call('HSET', job_key(id), 'hook_attempts', ARGV[5], 'hook_reason', ARGV[7])
if what == 'pending' then hook_later(id, h[1], now + ARGV[6]) else hook_over(id, h[1]) end
hook_is(id, h[3], what)
return 'ok'
