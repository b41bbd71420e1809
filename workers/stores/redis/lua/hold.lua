#!lua flags=allow-oom
-- Renew the lease of a rebuild. ARGV: token, ms. Returns 1, or 0 if it is lost.
if redis.call('GET', P .. 'rebuilding') ~= ARGV[2] then return 0 end
return redis.call('PEXPIRE', P .. 'rebuilding', ARGV[3])
