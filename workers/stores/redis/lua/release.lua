#!lua flags=allow-oom
-- Requeue a job whose attempt is over. ARGV: id, fence, spend 0 or 1, max
-- attempts (where the job says none), ms until it is due, whose it was (0: the worker's that
-- releases it; 1: a lost worker's, whose lease must have expired; 2: a dead one's), the problem that the
-- job shows if this was its last attempt (JSON or ''), whether it may be taken only when it is due,
-- why it is tried again (a problem as JSON, '' if its worker was lost), the kind of the lane in which
-- it waits from now on, or ''.
-- Returns 'lost', 'cancelled', 'exhausted' or 'queued'.
local id = ARGV[2]
local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease', 'cancel', 'attempt',
  'method')
local status, attempt = h[1], tonumber(h[5])
local given_up = attempt
-- Neither a job that has ended nor one that is queued has a fence.
if h[2] ~= ARGV[3] then return 'lost' end
if ARGV[7] == '1' and tonumber(h[3]) > now then return 'lost' end
-- With a lease of 0 the attempt was released before, and only its end is missing.
if h[3] ~= '0' then
  local outcome = ARGV[7] ~= '0' and 'lost' or ARGV[4] == '0' and 'returned' or 'aborted'
  count('attempts ' .. h[6] .. ' ' .. outcome)
end
if h[4] then
  redis.call('HSET', job_key(id), 'lease', 0)
  redis.call('ZADD', P .. 'due', int(now), id)
  return 'cancelled'
end
if ARGV[4] == '0' then
  attempt = attempt - 1
  redis.call('HSET', job_key(id), 'attempt', attempt)
end
local policy, due, waits = policy_of(id), tonumber(ARGV[6]), ARGV[9] == '1'
local refused = ARGV[4] ~= '0' and not retries_on(policy, ARGV[10])
if refused or attempt >= (policy.attempts or tonumber(ARGV[5])) then
  local why = ARGV[8] ~= '' and ARGV[8] or refused and ARGV[10] or ''
  if h[3] ~= '0' then note_given_up(id, ARGV[10], given_up, ARGV[4]) end
  redis.call('HSET', job_key(id), 'lease', 0)
  redis.call('ZADD', P .. 'due', int(now), id)
  if why ~= '' then redis.call('HSET', job_key(id), 'error', why) end
  return 'exhausted'
end
local pause = ARGV[4] ~= '0' and backoff(policy, attempt) or 0
if pause > 0 then due, waits = math.max(pause, waits and due or 0), true end
redis.call('HDEL', job_key(id), 'fence', 'lease', 'worker')
redis.call('HSET', job_key(id), 'progress', '{}')
tried_again(id, ARGV[10], given_up, ARGV[4])
if ARGV[11] ~= '' then redis.call('HSET', job_key(id), 'lane', ARGV[11]) end
redis.call('ZADD', P .. 'due', int(now + due), id)
set_status(id, status, 'queued')
if waits then lane_leave(id) end
progress_event(id)
return 'queued'
