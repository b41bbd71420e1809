#!lua flags=allow-oom
-- Delete a job. ARGV: id, id of its tree. Returns 1 if it existed.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'once', 'hook_to', 'hook', 'refs',
  'tenant', 'key')
redis.call('ZREM', P .. 'due', id)
index_drop('tree', ARGV[3])
if not h[1] then return 0 end
place(id, h[1], nil)
untag('job', id)
job_bytes(id, 0)
beside_drop(id, h[6], h[7])
refs_drop(id, h[5])
redis.call('ZREM', P .. 'expiries', id)
if h[3] then
  hook_over(id, h[3])
  hook_is(id, h[4], nil)
end
if redis.call('HGET', h[2], 'job') == id then redis.call('DEL', h[2]) end
redis.call('DEL', job_key(id), P .. 'events:' .. id)
redis.call('PUBLISH', P .. 'wake:' .. id, 'deleted')
return 1
