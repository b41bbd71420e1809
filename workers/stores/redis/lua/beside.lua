#!lua flags=allow-oom
-- Count a folder beside a dataset or job, in place of what it had. ARGV: 'dataset' or 'job', id,
-- folder, bytes. Returns 1 if there is such a record; nothing counts without one.
local h = redis.call('HMGET', P .. ARGV[2] .. ':' .. ARGV[3], 'tenant', 'key')
if not h[1] then return 0 end
local own, bytes = P .. 'beside:' .. ARGV[3], tonumber(ARGV[5])
use(h[1], h[2], 'bytes', bytes - tonumber(redis.call('HGET', own, ARGV[4]) or '0'))
if bytes > 0 then redis.call('HSET', own, ARGV[4], ARGV[5]) else redis.call('HDEL', own, ARGV[4]) end
return 1
