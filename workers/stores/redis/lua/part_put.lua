#!lua flags=allow-oom
-- Count a part of an upload, in place of an earlier one with its number. ARGV: upload, tenant, key
-- or '', number, bytes. Returns 1 if an earlier one was counted, else 0.
local own = P .. 'upload:' .. ARGV[2]
local earlier = redis.call('HGET', own, ARGV[5])
use(ARGV[3], ARGV[4], 'bytes', tonumber(ARGV[6]) - tonumber(earlier or '0'))
redis.call('HSET', own, 'tenant', ARGV[3], 'key', ARGV[4], ARGV[5], ARGV[6])
return earlier and 1 or 0
