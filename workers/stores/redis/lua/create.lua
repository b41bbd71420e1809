#!lua
-- Create the record of a job. ARGV: id, tenant, queue, method, kind, listed, request, resend ms,
-- idempotency key or '', sha256 of the body, ms for which the key is kept, the receiver of its
-- webhook ('<tenant> <host:port>') or ''. Returns {'made', version}, {'exists'}, {'replay', id of
-- the first job} or {'mismatch'}.
local id, tenant, queue, method, kind = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local once = ''
if redis.call('EXISTS', job_key(id)) == 1 then return { 'exists' } end
if ARGV[10] ~= '' then
  once = P .. 'idempotency:' .. tenant .. ':' .. ARGV[10]
  local first = redis.call('HMGET', once, 'job', 'body')
  if first[1] and first[1] ~= id then
    if first[2] ~= ARGV[11] then return { 'mismatch' } end
    return { 'replay', first[1] }
  end
  redis.call('HSET', once, 'job', id, 'body', ARGV[11])
  redis.call('PEXPIRE', once, ARGV[12])
end
redis.call('HSET', job_key(id), 'tenant', tenant, 'queue', queue, 'method', method, 'kind', kind,
  'listed', ARGV[7], 'request', ARGV[8], 'status', 'queued', 'attempt', 0, 'once', once,
  'progress', '{}', 'base', int(now), 'version', int(now), 'events', 0)
if ARGV[13] ~= '' then
  redis.call('HSET', job_key(id), 'hook_to', ARGV[13], 'hook_attempts', 0)
  hook_is(id, nil, 'waiting')
end
place(id, nil, 'queued')
redis.call('ZADD', P .. 'due', int(now + ARGV[9]), id)
progress_event(id)
return { 'made', redis.call('HGET', job_key(id), 'version') }
