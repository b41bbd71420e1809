#!lua flags=allow-oom
-- Take a dataset or job for removal, unless something that is kept needs it. ARGV: id. Returns
-- {'ok', tenant}, {'absent'}, {'unfinished'} (a job has not ended, or has a webhook to be sent), or
-- {'needed', by what}.
local id = ARGV[2]
local begun = redis.call('HGET', P .. 'going', id)
if begun then return { 'ok', begun } end
local is_job = string.sub(id, 1, 4) == 'job_'
local tenant
if is_job then
  local h = redis.call('HMGET', job_key(id), 'status', 'tenant', 'hook')
  if not h[1] then return { 'absent' } end
  if not ended(h[1]) or h[3] == 'pending' then return { 'unfinished' } end
  tenant = h[2]
else
  tenant = redis.call('HGET', P .. 'dataset:' .. id, 'tenant')
  if not tenant then return { 'absent' } end
end
for _, by in ipairs(redis.call('SMEMBERS', P .. 'needed:' .. id)) do
  local status
  if string.sub(by, 1, 4) == 'job_' then status = redis.call('HGET', job_key(by), 'status')
  else status = redis.call('EXISTS', P .. 'dataset:' .. by) == 1 and 'kept' end
  if not status then redis.call('SREM', P .. 'needed:' .. id, by)
  elseif (is_job or not ended(status)) and not is_going(by) then return { 'needed', by } end
end
redis.call('HSET', P .. 'going', id, tenant)
return { 'ok', tenant }
