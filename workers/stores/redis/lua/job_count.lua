#!lua flags=allow-oom
-- Count a job whose record was made before jobs were counted. ARGV: id, key or '', bytes, refs as
-- JSON, the time in ms at which it expires or ''. Returns 1 if it was not counted.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'bytes')
if not h[1] or h[2] then return 0 end
redis.call('HSET', job_key(id), 'key', ARGV[3], 'refs', ARGV[5])
job_bytes(id, tonumber(ARGV[4]))
count_use(id, nil, h[1])
refs_add(id, ARGV[5])
if ARGV[6] ~= '' then redis.call('ZADD', P .. 'expiries', ARGV[6], id) end
return 1
