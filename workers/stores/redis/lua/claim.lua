#!lua flags=allow-oom
-- Claim a job. ARGV: id, fence, lease ms, max attempts, worker.
-- Returns {'gone'}, {'ended'}, {'leased'}, {'cancelled'}, {'exhausted'} or
-- {'ok', attempt, time of the first attempt in us}.
local id, fence = ARGV[2], ARGV[3]
local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease', 'cancel', 'attempt',
  'started_us', 'method', 'queued_at')
local status, attempt = h[1], tonumber(h[5])
if not status then return { 'gone' } end
if ended(status) then return { 'ended' } end
if h[2] == fence then return { 'ok', attempt, h[6] } end
if status ~= 'queued' and tonumber(h[3]) > now then return { 'leased' } end
if h[4] then return { 'cancelled' } end
if attempt >= tonumber(ARGV[5]) then return { 'exhausted' } end
local started = h[6] or (int(time[1]) .. string.format('%06d', time[2]))
local lease = int(now + ARGV[4])
redis.call('HSET', job_key(id), 'fence', fence, 'lease', lease, 'attempt', attempt + 1,
  'worker', ARGV[6], 'started_us', started, 'progress', '{}')
redis.call('ZADD', P .. 'due', lease, id)
if status ~= 'queued' then count('attempts ' .. h[7] .. ' lost')
elseif h[8] then observe('wait ' .. h[7] .. ' ' .. lane_of(id), now - h[8]) end
set_status(id, status, 'running')
progress_event(id)
return { 'ok', attempt + 1, started }
