#!lua flags=allow-oom
-- Set the name, description and tags of a job, dataset or tree. ARGV: 'job', 'dataset' or 'tree', id,
-- revision, the annotation as JSON. Returns 0 where it has no record, or has this revision or a later
-- one already.
local name, id = ARGV[2], ARGV[3]
local own = P .. name .. ':' .. id
local h = redis.call('HMGET', own, 'tenant', 'revision')
if not h[1] or tonumber(h[2] or '0') >= tonumber(ARGV[4]) then return 0 end
untag(name, id)
redis.call('HSET', own, 'annotation', ARGV[5], 'revision', ARGV[4])
tag(name, id, ARGV[5])
if name == 'job' then touch(id) end
return 1
