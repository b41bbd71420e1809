#!lua flags=allow-oom
-- Record the end of a job, whose terminal object is already in the store. ARGV: id, status,
-- attempt, started_at or '', finished_at, result, warnings, error (JSON or ''), ms for which events
-- are kept (0: none), id of its tree or '', the tree's facts as JSON, the result of its webhook or
-- '' (it is due now), how often that was sent, the reason of its failure, the bytes that it keeps,
-- the annotation that its tree is made with or '', why attempts were given up, where Redis lost it.
-- Returns 'gone', 'ended' (nothing changed), 'ok', or for 'ok' 'restored' where Redis had lost the
-- record, and with it the number of earlier attempts, and 'beside' where a later attempt has begun.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'tenant', 'hook_to', 'hook', 'method', 'started_us',
  'lease', 'key', 'bytes', 'restored', 'attempt')
local status = h[1]
if not status then return 'gone' end
if ended(status) then return 'ended' end
if ARGV[10] ~= '0' then
  count('ended ' .. h[5] .. ' ' .. ARGV[3])
  -- With a lease of 0 the attempt was released and counted before.
  if status ~= 'queued' and h[7] ~= '0' then count('attempts ' .. h[5] .. ' ' .. ARGV[3]) end
  if h[6] then observe('duration ' .. h[5] .. ' ' .. ARGV[3], now - h[6] / 1000) end
end
redis.call('HDEL', job_key(id), 'fence', 'lease', 'worker', 'cancel', 'cancel_by')
redis.call('HSET', job_key(id), 'attempt', ARGV[4], 'started_at', ARGV[5], 'finished_at', ARGV[6],
  'result', ARGV[7], 'warnings', ARGV[8], 'error', ARGV[9])
if ARGV[18] ~= '' then redis.call('HSETNX', job_key(id), 'given_up', ARGV[18]) end
if ARGV[3] == 'succeeded' then
  redis.call('HSET', job_key(id), 'progress', '{"fraction":1.0,"stage":"done"}')
end
redis.call('ZREM', P .. 'due', id)
if ARGV[11] ~= '' then index_put('tree', ARGV[11], h[2], '', ARGV[12], 0, h[8] or '', '', '', '', ARGV[17]) end
if h[9] then job_bytes(id, tonumber(ARGV[16])) end
set_status(id, status, ARGV[3])
if h[3] then
  if ARGV[13] == '' then
    hook_is(id, h[4], 'pending')
    hook_later(id, h[3], now)
  else
    redis.call('HSET', job_key(id), 'hook_attempts', ARGV[14], 'hook_reason', ARGV[15])
    hook_is(id, h[4], ARGV[13])
  end
end
if ARGV[10] == '0' then
  redis.call('DEL', P .. 'events:' .. id)
else
  event(id, 'done', '{}')
  redis.call('PEXPIRE', P .. 'events:' .. id, ARGV[10])
end
redis.call('PUBLISH', P .. 'wake:' .. id, ARGV[3])
if h[10] then return 'restored' end
return tonumber(h[11]) > tonumber(ARGV[4]) and 'beside' or 'ok'
