#!lua flags=allow-oom
-- Count a part of an upload, in place of an earlier one with its number. ARGV: upload, tenant, key
-- or '', number, bytes.
local own = P .. 'upload:' .. ARGV[2]
use(ARGV[3], ARGV[4], 'bytes', tonumber(ARGV[6]) - tonumber(redis.call('HGET', own, ARGV[5]) or '0'))
redis.call('HSET', own, 'tenant', ARGV[3], 'key', ARGV[4], ARGV[5], ARGV[6])
return 1
