#!lua flags=allow-oom
-- End a rebuild, which is complete if no data was lost meanwhile. ARGV: token, run id of the
-- server, or '' to abandon the rebuild. Returns 1 or 0.
if redis.call('GET', P .. 'rebuilding') ~= ARGV[2] then return 0 end
redis.call('DEL', P .. 'rebuilding')
if ARGV[3] ~= '' then redis.call('SET', P .. 'counted', ARGV[3]) end
return 1
