#!lua
-- Add a dataset to its lists. ARGV: name, id, tenant, group or '', facts as JSON, bytes, key or '',
-- the job that it needs or '', the time in ms at which it expires or '', the sha256 of its content, its
-- annotation as JSON or ''. What was reserved under its id is free: now it is counted.
index_put(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10],
  ARGV[11], ARGV[12])
redis.call('HDEL', P .. 'reserved:' .. ARGV[4], ARGV[3])
return 1
