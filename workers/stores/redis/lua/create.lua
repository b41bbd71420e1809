#!lua
-- Create the record of a job. ARGV: id, tenant, queue, method, kind, listed, request, resend ms,
-- idempotency key or '', sha256 of the body, ms for which the key is kept, the receiver of its
-- webhook ('<tenant> <host:port>') or '', its key or '', the most jobs of that key that run or '',
-- bytes of its inline inputs, limits as JSON, '' or '-' (it was accepted before), datasets that it
-- makes, what it needs (ids as JSON), the time in ms at which it expires or '', its hint, a message
-- of the broker, or '', its annotation as JSON or '', its lane, how it is tried again (JSON or '').
-- Returns {'made', version}, {'exists'}, {'replay', id of the first job},
-- {'mismatch'}, {'gone', what it needs} or what `exceeded` does.
local id, tenant, queue, method, kind = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local once, key = '', ARGV[14]
if redis.call('EXISTS', job_key(id)) == 1 then return { 'exists' } end
if ARGV[10] ~= '' then
  once = P .. 'idempotency:' .. tenant .. ':' .. ARGV[10]
  local first = redis.call('HMGET', once, 'job', 'body')
  if first[1] and first[1] ~= id then
    if first[2] ~= ARGV[11] then return { 'mismatch' } end
    return { 'replay', first[1] }
  end
end
if ARGV[17] ~= '-' then
  for _, ref in ipairs(cjson.decode(ARGV[19])) do
    if is_going(ref) then return { 'gone', ref } end
  end
  local needed = { bytes = tonumber(ARGV[16]), datasets = tonumber(ARGV[18]), queued = tonumber(ARGV[7]) }
  local why = exceeded(ARGV[17], tenant, key, needed, true, '')
  if why then return why end
end
if once ~= '' then
  redis.call('HSET', once, 'job', id, 'body', ARGV[11])
  redis.call('PEXPIRE', once, ARGV[12])
end
redis.call('HSET', job_key(id), 'tenant', tenant, 'queue', queue, 'method', method, 'kind', kind,
  'listed', ARGV[7], 'request', ARGV[8], 'status', 'queued', 'attempt', 0, 'once', once,
  'progress', '{}', 'base', int(now), 'version', int(now), 'events', 0, 'key', key,
  'key_running', ARGV[15], 'refs', ARGV[19], 'lane', ARGV[23])
if ARGV[17] == '-' then redis.call('HSET', job_key(id), 'restored', 1) end
if ARGV[24] ~= '' then redis.call('HSET', job_key(id), 'policy', ARGV[24]) end
annotate_first('job', id, ARGV[22])
job_bytes(id, tonumber(ARGV[16]))
refs_add(id, ARGV[19])
if ARGV[20] ~= '' then redis.call('ZADD', P .. 'expiries', ARGV[20], id) end
if ARGV[13] ~= '' then
  redis.call('HSET', job_key(id), 'hook_to', ARGV[13], 'hook_attempts', 0)
  hook_is(id, nil, 'waiting')
end
place(id, nil, 'queued')
redis.call('ZADD', P .. 'due', int(now + ARGV[9]), id)
progress_event(id)
if ARGV[21] ~= '' then redis.call('LPUSH', P .. 'queue:' .. queue, ARGV[21]) end
return { 'made', redis.call('HGET', job_key(id), 'version') }
