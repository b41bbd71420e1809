#!lua flags=allow-oom
-- Replace the facts of a dataset or tree that is listed. ARGV: name, id, facts as JSON.
local key = P .. ARGV[2] .. ':' .. ARGV[3]
if redis.call('EXISTS', key) == 0 then return 0 end
redis.call('HSET', key, 'facts', ARGV[4])
return 1
