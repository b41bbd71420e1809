#!lua flags=allow-oom
-- Renew the right to rebuild. ARGV: token, ms. Answers 1, or 0 where it is lost.
if redis.call('GET', P .. 'rebuilding') ~= ARGV[2] then return 0 end
return redis.call('PEXPIRE', P .. 'rebuilding', ARGV[3])
