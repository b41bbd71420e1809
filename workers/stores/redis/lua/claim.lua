#!lua flags=allow-oom
-- Claim a job. ARGV: id, fence, lease ms, max attempts, worker, jobs of each tenant that may run
-- (JSON or ''). Returns {'gone'}, {'ended'}, {'leased'}, {'cancelled'}, {'exhausted'}, {'held'} or
-- {'ok', attempt, time of the first attempt in us}.
local id, fence = ARGV[2], ARGV[3]
local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease', 'cancel', 'attempt', 'started_us',
  'tenant', 'listed', 'key', 'key_running')
local status, attempt = h[1], tonumber(h[5])
if not status then return { 'gone' } end
if ended(status) then return { 'ended' } end
if h[2] == fence then return { 'ok', attempt, h[6] } end
if status ~= 'queued' and tonumber(h[3]) > now then return { 'leased' } end
if h[4] then return { 'cancelled' } end
if attempt >= tonumber(ARGV[5]) then return { 'exhausted' } end
if status == 'queued' and h[8] == '1' and (runs_most(ARGV[7], h[7])
    or (h[10] or '') ~= '' and used(h[7], h[9], 'running') >= tonumber(h[10])) then
  lane_enter(id)
  return { 'held' }
end
local started = h[6] or (int(time[1]) .. string.format('%06d', time[2]))
local lease = int(now + ARGV[4])
redis.call('HSET', job_key(id), 'fence', fence, 'lease', lease, 'attempt', attempt + 1,
  'worker', ARGV[6], 'started_us', started, 'progress', '{}')
redis.call('ZADD', P .. 'due', lease, id)
set_status(id, status, 'running')
progress_event(id)
return { 'ok', attempt + 1, started }
