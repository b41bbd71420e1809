#!lua flags=allow-oom
-- End the removal of a dataset or job. ARGV: id, ms for which no new job may need it.
redis.call('HDEL', P .. 'going', ARGV[2])
redis.call('ZREMRANGEBYSCORE', P .. 'gone', '-inf', int(now))
redis.call('ZADD', P .. 'gone', int(now + ARGV[3]), ARGV[2])
return 1
