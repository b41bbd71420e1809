#!lua flags=allow-oom
-- End a rebuild: complete if nothing was lost meanwhile. ARGV: token, run id of the server, or ''
-- to give up. Answers 1 or 0.
if redis.call('GET', P .. 'rebuilding') ~= ARGV[2] then return 0 end
redis.call('DEL', P .. 'rebuilding')
if ARGV[3] ~= '' then redis.call('SET', P .. 'built', ARGV[3]) end
return 1
