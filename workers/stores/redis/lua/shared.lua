-- The part shared by all scripts. ARGV[1] is the prefix of all keys. The keys, without it:
--
-- job:<id>             hash, the record of a job. From its creation: tenant, queue, method, kind,
--                      listed, request (JSON), once (its idempotency key), status, attempt,
--                      progress (JSON), version and base (ms), events (number of the last one).
--                      queued_at (ms): since when it waits, or waited last.
--                      While an attempt runs: fence, lease (ms), worker, started_us; cancel and
--                      cancel_by (ms) once a cancel was requested. At the end: started_at,
--                      finished_at, result, warnings, error. For a webhook: hook, hook_to,
--                      hook_attempts, hook_reason, hook_due, hook_token.
-- due                  sorted set of jobs, by the time in ms of its next check by a sweeper
-- jobs:<tenant>...     lists of jobs, also `:method:<m>`, `:status:<s>` and `:status:<s>:method:<m>`;
--                      sorted by id, hence by time of creation
-- counts, queued       hashes: jobs by status; queued jobs by queue
-- tenant_jobs          hash: jobs by tenant and status, `<tenant> <status>`
-- metrics, kept        what `/metrics` shows (below); bytes in the store (`workers.telemetry`)
-- lane:<lane>:<tenant>, turns:<lane>, taken:<lane>, shares:<lane>, turn  jobs that may be taken (below)
-- events:<id>          stream of a job's events
-- wake:<id>            channel: the job was cancelled, has ended or was deleted
-- idempotency:<tenant>:<key>  hash: job, body (its sha256)
-- board:<id>:<fence>, boards  pieces of a fit (below)
-- hooks, hooks:<to>, hooks_busy:<tenant>, hook_counts  webhooks (below)
-- <kind>:<id>, <kind>s:<tenant>  records and lists of datasets and trees (`index`)
-- workers              sorted set of workers, by the time of their last report
-- queue:<name>         Celery's list of messages
-- only:<task>          some process does a periodic task now, so that the others need not
-- built, rebuilding    the store from which Redis was built; the token of a running rebuild
local P = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function int(number) return string.format('%.0f', number) end
local function job_key(id) return P .. 'job:' .. id end
local function ended(status)
  return status == 'succeeded' or status == 'failed' or status == 'cancelled'
end

local function lists(tenant, method, status)
  local base = P .. 'jobs:' .. tenant
  return { base .. ':status:' .. status, base .. ':status:' .. status .. ':method:' .. method },
    { base, base .. ':method:' .. method }
end

-- Queued jobs wait in lanes: `<queue>:quick` has the work that must not stand behind fits,
-- `<queue>:fit` the rest. `lane:<lane>:<tenant>` has a tenant's jobs, the oldest first, and
-- `turns:<lane>` the tenants, by the number of their last turn (0: they had none), so that the next
-- turn is that of the tenant who has waited longest. `taken:<lane>` has that number also for tenants
-- without jobs: one who comes back does not come first again. `shares:<lane>` has the jobs taken in
-- a turn that goes on; `turn` counts the turns. A lane may lack a queued job (a sweeper puts it
-- back) and may have one that is not queued (`next` leaves it out).
local quick = { predict = true, transform = true, evaluate = true, import = true, inspect = true }
local function lane_of(id)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'queue', 'kind')
  local lane = h[2] .. ':' .. (quick[h[3]] and 'quick' or 'fit')
  return lane, h[1], P .. 'lane:' .. lane .. ':' .. h[1]
end
local function lane_enter(id)
  local lane, tenant, key = lane_of(id)
  redis.call('ZADD', key, 0, id)
  local last = redis.call('HGET', P .. 'taken:' .. lane, tenant) or '0'
  redis.call('ZADD', P .. 'turns:' .. lane, 'NX', last, tenant)
end
local function lane_leave(id)
  local lane, tenant, key = lane_of(id)
  redis.call('ZREM', key, id)
  if redis.call('EXISTS', key) == 0 then redis.call('ZREM', P .. 'turns:' .. lane, tenant) end
end

-- Counters and histograms since Redis was empty, in the hash `metrics`. A field is the name of the
-- metric and the values of its labels, separated by spaces; a histogram has for each bucket the
-- number of its values under `<field> le:<bound>`, not cumulated, and their sum under `<field> sum`.
-- Durations are in ms. The bounds are those of `workers.telemetry.figures.DURATIONS_MS`.
local durations = { 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 900000,
  3600000, 14400000, 86400000 }
local function count(field) redis.call('HINCRBY', P .. 'metrics', field, 1) end
local function observe(field, ms)
  local bound = 'inf'
  for _, edge in ipairs(durations) do
    if ms <= edge then
      bound = int(edge)
      break
    end
  end
  redis.call('HINCRBY', P .. 'metrics', field .. ' le:' .. bound, 1)
  redis.call('HINCRBY', P .. 'metrics', field .. ' sum', int(math.max(ms, 0)))
end

local function tenant_has(tenant, status, n)
  local field = tenant .. ' ' .. status
  -- Jobs of before this was counted have not been added.
  if redis.call('HINCRBY', P .. 'tenant_jobs', field, n) <= 0 then
    redis.call('HDEL', P .. 'tenant_jobs', field)
  end
end

-- Move the job from the lists of status `old` (nil: it was in none) to those of `new` (nil: none).
local function place(id, old, new)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'method', 'queue', 'listed')
  if old then
    redis.call('HINCRBY', P .. 'counts', old, -1)
    tenant_has(h[1], old, -1)
    if old == 'queued' then
      redis.call('HINCRBY', P .. 'queued', h[3], -1)
      lane_leave(id)
    end
  end
  if new then
    redis.call('HINCRBY', P .. 'counts', new, 1)
    tenant_has(h[1], new, 1)
    if new == 'queued' then
      redis.call('HSET', job_key(id), 'queued_at', int(now))
      redis.call('HINCRBY', P .. 'queued', h[3], 1)
      lane_enter(id)
    end
  end
  if h[4] ~= '1' then return end
  if old then
    local of_status, of_job = lists(h[1], h[2], old)
    for _, key in ipairs(of_status) do redis.call('ZREM', key, id) end
    if not new then for _, key in ipairs(of_job) do redis.call('ZREM', key, id) end end
  end
  if new then
    local of_status, of_job = lists(h[1], h[2], new)
    for _, key in ipairs(of_status) do redis.call('ZADD', key, 0, id) end
    if not old then for _, key in ipairs(of_job) do redis.call('ZADD', key, 0, id) end end
  end
end

-- Append to the job's capped stream. Ids are `<base>-<n>`, n without gaps, so that a reader
-- detects missed events; the base changes when the record is created again.
local function event(id, kind, data)
  local n = redis.call('HINCRBY', job_key(id), 'events', 1)
  local h = redis.call('HMGET', job_key(id), 'base', 'status')
  redis.call('XADD', P .. 'events:' .. id, 'MAXLEN', 100, h[1] .. '-' .. n,
    'event', kind, 'status', h[2], 'data', data)
end

local function touch(id) redis.call('HINCRBY', job_key(id), 'version', 1) end

local function set_status(id, old, new)
  redis.call('HSET', job_key(id), 'status', new)
  touch(id)
  if old ~= new then place(id, old, new) end
end

local function progress_event(id)
  event(id, 'progress', redis.call('HGET', job_key(id), 'progress'))
end

-- Lists of datasets and trees: the hash `<name>:<id>`, with name `dataset` or `tree`, and sorted
-- sets by tenant and, if there is one, group.
local function index_lists(name, tenant, group)
  local base = P .. name .. 's:' .. tenant
  if group == '' then return { base } end
  return { base, base .. ':group:' .. group }
end
local function index_put(name, id, tenant, group, facts)
  redis.call('HSET', P .. name .. ':' .. id, 'tenant', tenant, 'group', group, 'facts', facts)
  for _, key in ipairs(index_lists(name, tenant, group)) do redis.call('ZADD', key, 0, id) end
end
local function index_drop(name, id)
  local h = redis.call('HMGET', P .. name .. ':' .. id, 'tenant', 'group')
  if not h[1] then return 0 end
  for _, key in ipairs(index_lists(name, h[1], h[2])) do redis.call('ZREM', key, id) end
  return redis.call('DEL', P .. name .. ':' .. id)
end

-- The board of an attempt whose fit is split into pieces. The hash `board:<job>:<fence>` has piece
-- k as `p<k>`, the token of its holder as `t<k>`, how often helpers took it as `c<k>`, and as
-- `mine` the piece that the attempt itself holds. `...:left` has the unfinished pieces, scored by
-- the time in ms from which they may be taken (free pieces by their number, which is far in the
-- past), `...:own` those that only the attempt may take, `...:done` those finished by helpers.
-- `boards` is scored by the time at which a sweeper must check them.
local function board_key(id, fence) return P .. 'board:' .. id .. ':' .. fence end

-- Whether the attempt is running and still holds its lease.
local function goes_on(id, fence)
  local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease')
  return h[1] == 'running' and h[2] == fence and tonumber(h[3]) > now
end

-- Remove a board; returns the time in ms until which a helper may be at work on one of its pieces.
local function board_drop(key)
  local last = redis.call('ZREVRANGEBYSCORE', key .. ':left', '(inf', int(now), 'WITHSCORES',
    'LIMIT', 0, 1)
  redis.call('DEL', key, key .. ':left', key .. ':own', key .. ':done')
  return tonumber(last[2]) or now
end

-- Webhooks of jobs that have ended. A job's `hook_to` is the receiver of its webhook, '<tenant>
-- <host:port>', and `hook` its status. `hooks:<to>` has the jobs whose webhooks must be sent there,
-- scored by the time in ms at which they are due or, during sending, at which the lease ends;
-- `hooks` has every <to>, scored by the time of its next check. `hooks_busy:<tenant>` has the
-- webhooks being sent, '<host:port> <job>', scored by the end of the lease.
local function hook_is(id, old, new)
  if old then redis.call('HINCRBY', P .. 'hook_counts', old, -1) end
  if new then
    redis.call('HINCRBY', P .. 'hook_counts', new, 1)
    redis.call('HSET', job_key(id), 'hook', new)
    touch(id)
  end
end

local function hook_parts(to) return string.match(to, '^(%S+) (%S+)$') end

-- Schedule the next check of a receiver for when its first webhook is due.
local function hook_look(to)
  local first = redis.call('ZRANGE', P .. 'hooks:' .. to, 0, 0, 'WITHSCORES')
  if first[1] then redis.call('ZADD', P .. 'hooks', int(tonumber(first[2])), to)
  else redis.call('ZREM', P .. 'hooks', to) end
end

-- End the lease of a webhook.
local function hook_free(id, to)
  local tenant, place = hook_parts(to)
  redis.call('HDEL', job_key(id), 'hook_token', 'hook_due')
  redis.call('ZREM', P .. 'hooks_busy:' .. tenant, place .. ' ' .. id)
end

-- Schedule a webhook for a time in ms.
local function hook_later(id, to, at)
  hook_free(id, to)
  redis.call('HSET', job_key(id), 'hook_due', int(at))
  redis.call('ZADD', P .. 'hooks:' .. to, int(at), id)
  hook_look(to)
end

-- Remove a webhook that must not be sent any more.
local function hook_over(id, to)
  hook_free(id, to)
  redis.call('ZREM', P .. 'hooks:' .. to, id)
  hook_look(to)
end
