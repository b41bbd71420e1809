-- The part shared by all scripts. ARGV[1] is the prefix of all keys. The keys, without it:
--
-- job:<id>             hash, the record of a job. From its creation: tenant, queue, method, kind,
--                      listed, request (JSON), once (its idempotency key), status, attempt,
--                      progress (JSON), version and base (ms), events (number of the last one).
--                      policy (JSON): how it is tried again. given_up: its attempts that were.
--                      queued_at (ms): since when it waits, or waited last. restored: 1 if the
--                      record was made again from the store.
--                      While an attempt runs: fence, lease (ms), worker, started_us; cancel and
--                      cancel_by (ms) once a cancel was requested. At the end: started_at,
--                      finished_at, result, warnings, error. For a webhook: hook, hook_to,
--                      hook_attempts, hook_reason, hook_due, hook_token. For its tenant's use:
--                      key, key_running (a limit), bytes (absent: it is not counted), refs (JSON)
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
-- tenants              set of tenants that use anything
-- usage:<tenant>, usage:<tenant>:<key>, reserved:<tenant>, upload:<id>  what is used (below);
--                      upload:aliases:<tenant> counts moves of aliases
-- beside:<id>          hash: bytes of annotations, editions and links of a dataset or job, by folder
-- rate:<tenant>, rate:<tenant>:<key>  when a bucket of requests is full again (`rate`)
-- pauses               hash: what takes no jobs, `<scope> <name>`, and why (JSON); scope is lane (of a
--                      queue, or a whole queue), tenant, method or worker. known: Redis has them all
-- comparing:<token>    Redis has lost nothing since this comparison of pauses with the store began
-- paused:<method>      jobs that were taken out of their lane since their method is paused
-- parked:<tenant>, held:<tenant>, held:<tenant>:<key>  jobs that wait for a limit (below)
-- needed:<id>, expiries, going, gone  what may be removed (below)
-- board:<id>:<fence>, boards  pieces of a fit (below)
-- hooks, hooks:<to>, hooks_busy:<tenant>, hooks_held:<tenant>, hooks_slow, hook_counts, hook:<move>
--                      webhooks (below)
-- <kind>:<id>, <kind>s:<tenant>  records and lists of datasets and trees (`index`)
-- datasets:<tenant>:content:<sha256>  sorted set of the datasets with this content
-- <kind>s:<tenant>:tag:<tag>  sorted sets of the jobs, datasets and trees with a tag; in their hashes
--                      annotation (JSON), and revision once a user has changed them (`annotate`)
-- workers              sorted set of workers, by the time of their last report
-- queue:<name>         Celery's list of messages
-- take:<fence>         the job taken with this fence, for a moment
-- room:<lane>          the fence of the attempt that makes room for this lane, for a moment
-- crossing:<kind>:<tenant>/<tree>  sorted set: who moves an alias to it, or removes it, since when
-- only:<task>          some process does a periodic task now, so that the others need not
-- signing              set: marks of the secrets by which the process that looked last signs webhooks
-- seen:<task>          sorted set: what a sweep finds unfinished, since when in seconds
-- counted, rebuilding  the server's run at the last rebuild; the token of a running rebuild
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
-- `<queue>:short` fits that are expected to be over soon, `<queue>:fit` the rest, and jobs of
-- versions that did not note a lane. `lane:<lane>:<tenant>` has a tenant's jobs, the oldest first, and
-- `turns:<lane>` the tenants, by the number of their last turn (0: they had none), so that the next
-- turn is that of the tenant who has waited longest. `taken:<lane>` has that number also for tenants
-- without jobs: one who comes back does not come first again. `shares:<lane>` has the jobs taken in
-- a turn that goes on; `turn` counts the turns. A lane may lack a queued job (a sweeper puts it
-- back) and may have one that is not queued (`take` leaves it out).
local function lane_of(id)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'queue', 'lane')
  local lane = h[2] .. ':' .. (h[3] or 'fit')
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
  redis.call('ZREM', P .. 'held:' .. tenant, id)
  local own, method = unpack(redis.call('HMGET', job_key(id), 'key', 'method'))
  redis.call('ZREM', P .. 'paused:' .. method, id)
  if own and own ~= '' then redis.call('ZREM', P .. 'held:' .. tenant .. ':' .. own, id) end
  if redis.call('EXISTS', key) == 0 then redis.call('ZREM', P .. 'turns:' .. lane, tenant) end
end

local function paused(scope, name)
  return redis.call('HEXISTS', P .. 'pauses', scope .. ' ' .. name) == 1
end
local function lane_paused(lane)
  return paused('lane', lane) or paused('lane', string.match(lane, '^[^:]*'))
end

-- What a tenant, and each of its keys, uses: hashes with bytes, datasets, trees, jobs (listed ones),
-- queued and running. They change in the same step as what they count, so that a rebuild, which
-- makes records and lists again, makes them again too.
local function add_use(name, what, n)
  if redis.call('HINCRBY', name, what, int(n)) == 0 then redis.call('HDEL', name, what) end
end
local function use(tenant, key, what, n)
  if n == 0 then return end
  add_use(P .. 'usage:' .. tenant, what, n)
  if redis.call('EXISTS', P .. 'usage:' .. tenant) == 1 then redis.call('SADD', P .. 'tenants', tenant)
  else redis.call('SREM', P .. 'tenants', tenant) end
  if key and key ~= '' then add_use(P .. 'usage:' .. tenant .. ':' .. key, what, n) end
end
-- Forget what is beside a dataset or job, whose record is being dropped.
local function beside_drop(id, tenant, key)
  for _, bytes in ipairs(redis.call('HVALS', P .. 'beside:' .. id)) do
    use(tenant, key, 'bytes', -tonumber(bytes))
  end
  redis.call('DEL', P .. 'beside:' .. id)
end
local function used(tenant, key, what)
  local name = P .. 'usage:' .. tenant
  if key ~= '' then name = name .. ':' .. key end
  return tonumber(redis.call('HGET', name, what) or '0')
end

-- Uploads in progress: `reserved:<tenant>` has '<bytes> <datasets> <end in ms> <key>' for each.
-- Returns bytes and datasets that are reserved, for one key or ('') for all, but for `except`.
local function reserved(tenant, key, except)
  local bytes, datasets = 0, 0
  local all = redis.call('HGETALL', P .. 'reserved:' .. tenant)
  for i = 1, #all, 2 do
    local b, d, ends, own = string.match(all[i + 1], '^(%d+) (%d+) (%d+) (%S*)$')
    if tonumber(ends) <= now then redis.call('HDEL', P .. 'reserved:' .. tenant, all[i])
    elseif all[i] ~= except and (key == '' or key == own) then
      bytes, datasets = bytes + tonumber(b), datasets + tonumber(d)
    end
  end
  return bytes, datasets
end

-- The first limit that `needed` {bytes, datasets, queued} would exceed, for a tenant or its key:
-- {'limited', 'tenant' or 'key', what, used, limit}; nil if there is none. A limit that is reached
-- also refuses what takes an unknown number of bytes (`more`). limits: JSON or ''.
local function exceeded(limits, tenant, key, needed, more, except)
  if limits == '' then return nil end
  local most = cjson.decode(limits)
  for _, whose in ipairs({ 'tenant', 'key' }) do
    local own = whose == 'key' and key or ''
    local most = most[whose]
    if most and (whose == 'tenant' or key ~= '') then
      local bytes, datasets = reserved(tenant, own, except)
      local total = { bytes = used(tenant, own, 'bytes') + bytes,
        datasets = used(tenant, own, 'datasets') + datasets, queued = used(tenant, own, 'queued') }
      for _, what in ipairs({ 'queued', 'datasets', 'bytes' }) do
        local limit, n = tonumber(most[what]), needed[what] or 0
        local full = what == 'bytes' and more and limit and total.bytes >= limit
        if limit and (full or n > 0 and total[what] + n > limit) then
          return { 'limited', whose, what, int(total[what]), int(limit) }
        end
      end
    end
  end
  return nil
end

-- Jobs that may not run yet, since their tenant or their key has as many running as it may. In a
-- lane of fits the tenant gets no turns, and `parked:<tenant>` has the lane; in a lane of quick work,
-- which has jobs that do not count, and for keys, the jobs themselves wait in `held:<tenant>` or
-- `held:<tenant>:<key>`. When a job stops running, what waits for it returns; so does, like every
-- job in no lane, what a sweep finds.
local function runs_most(limits, tenant)
  if limits == '' then return false end
  local most = cjson.decode(limits)
  most = tonumber(most[tenant] or most[''])
  return most ~= nil and used(tenant, '', 'running') >= most
end
local function unhold(name)
  while true do
    local id = redis.call('ZPOPMIN', name)[1]
    if not id then return end
    if redis.call('HGET', job_key(id), 'status') == 'queued' then
      lane_enter(id)
      return
    end
  end
end
local function unpark(tenant)
  for _, lane in ipairs(redis.call('SMEMBERS', P .. 'parked:' .. tenant)) do
    if redis.call('EXISTS', P .. 'lane:' .. lane .. ':' .. tenant) == 1 then
      local last = redis.call('HGET', P .. 'taken:' .. lane, tenant) or '0'
      redis.call('ZADD', P .. 'turns:' .. lane, 'NX', last, tenant)
    end
  end
  redis.call('DEL', P .. 'parked:' .. tenant)
end
local function let_run(tenant, key)
  unpark(tenant)
  unhold(P .. 'held:' .. tenant)
  if key and key ~= '' then unhold(P .. 'held:' .. tenant .. ':' .. key) end
end

local use_of = { queued = 'queued', running = 'running', cancelling = 'running' }
local function count_use(id, old, new)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'key', 'listed', 'bytes')
  if not h[4] or h[3] ~= '1' then return end
  local from, to = old and use_of[old], new and use_of[new]
  if from ~= to then
    if from then use(h[1], h[2], from, -1) end
    if to then use(h[1], h[2], to, 1) end
    if from == 'running' then let_run(h[1], h[2]) end
  end
  if not old then use(h[1], h[2], 'jobs', 1) end
  if not new then use(h[1], h[2], 'jobs', -1) end
end

-- Set the bytes that a job keeps: its inline inputs and its results.
local function job_bytes(id, bytes)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'key', 'bytes')
  if not h[1] then return end
  use(h[1], h[2], 'bytes', bytes - tonumber(h[3] or '0'))
  redis.call('HSET', job_key(id), 'bytes', int(bytes))
end
-- Counters and histograms since Redis was empty, in the hash `metrics`. A field is the name of the
-- metric and the values of its labels, separated by spaces; a histogram has for each bucket the
-- number of its values under `<field> le:<bound>`, not cumulated, and their sum under `<field> sum`.
-- Durations are in ms. The bounds come from `workers.telemetry.job_counts.DURATIONS_MS`.
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

-- Move the job from the lists of status `old` (nil: it was in none) to the lists of `new` (nil: none).
local function place(id, old, new)
  local h = redis.call('HMGET', job_key(id), 'tenant', 'method', 'queue', 'listed')
  count_use(id, old, new)
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

-- Note why an attempt was given up: a problem as JSON, or '' if its worker was lost; its number; 1 or
-- 0, whether it counts. `given_up` has a line for each, the last 20.
local function note_given_up(id, why, attempt, counted)
  local lines = redis.call('HGET', job_key(id), 'given_up')
  local line = attempt .. ' ' .. counted .. ' ' .. int(now) .. ' ' .. why
  lines = lines and lines .. '\n' .. line or line
  if select(2, string.gsub(lines, '\n', '')) == 20 then lines = string.match(lines, '\n(.*)') end
  redis.call('HSET', job_key(id), 'given_up', lines)
end
-- The same where the job is tried again.
local function tried_again(id, why, attempt, counted)
  redis.call('HSET', job_key(id), 'retry', why, 'retry_attempt', attempt, 'retry_counted', counted,
    'retry_at', int(now))
  note_given_up(id, why, attempt, counted)
end

-- How a job wants to be tried again: `attempts`, the most that count; `backoff` (ms) after the first;
-- `retry_on`, a set of types of problems. What it does not say is as of the service.
local function policy_of(id)
  local policy = redis.call('HGET', job_key(id), 'policy')
  return policy and cjson.decode(policy) or {}
end
local LONGEST_BACKOFF = 3600000
local function backoff(policy, attempt)
  return math.min((policy.backoff or 0) * 2 ^ (attempt - 1), LONGEST_BACKOFF)
end
-- Whether a job is tried again for a problem (JSON, '' if its worker was lost).
local function retries_on(policy, why)
  if not policy.retry_on then return true end
  local code = why == '' and 'worker-lost' or string.match(cjson.decode(why).type or '', '[^/]*$')
  for _, accepted in ipairs(policy.retry_on) do if accepted == code then return true end end
  return false
end

-- Claim a job. most: jobs of each tenant that may run (JSON or ''). Returns {'gone'}, {'ended'},
-- {'leased'}, {'cancelled'}, {'exhausted'}, {'held'} or {'ok', attempt, time of the first attempt in
-- us, the kind of its lane, why earlier attempts were given up}.
local function claim(id, fence, lease_ms, max_attempts, worker, most)
  local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease', 'cancel', 'attempt', 'started_us',
    'tenant', 'listed', 'key', 'key_running', 'method', 'queued_at', 'lane', 'given_up')
  local status, attempt = h[1], tonumber(h[5])
  if not status then return { 'gone' } end
  if ended(status) then return { 'ended' } end
  if h[2] == fence then return { 'ok', attempt, h[6], h[13] or 'fit', h[14] or '' } end
  if status ~= 'queued' and tonumber(h[3]) > now then return { 'leased' } end
  if h[4] then return { 'cancelled' } end
  local policy = policy_of(id)
  if attempt >= (policy.attempts or tonumber(max_attempts)) then return { 'exhausted' } end
  if status == 'queued' and h[8] == '1' and (runs_most(most, h[7])
      or (h[10] or '') ~= '' and used(h[7], h[9], 'running') >= tonumber(h[10])) then
    lane_enter(id)
    return { 'held' }
  end
  if status == 'queued' and (paused('tenant', h[7]) or paused('method', h[11])
      or paused('worker', worker) or lane_paused((lane_of(id)))) then
    lane_enter(id)
    return { 'held' }
  end
  local started = h[6] or (int(time[1]) .. string.format('%06d', time[2]))
  local lease = int(now + lease_ms)
  redis.call('HSET', job_key(id), 'fence', fence, 'lease', lease, 'attempt', attempt + 1,
    'worker', worker, 'started_us', started, 'progress', '{}')
  redis.call('ZADD', P .. 'due', lease, id)
  if status ~= 'queued' then
    count('attempts ' .. h[11] .. ' lost')
    tried_again(id, '', attempt, 1)
  elseif h[12] then observe('wait ' .. h[11] .. ' ' .. lane_of(id), now - h[12]) end
  set_status(id, status, 'running')
  progress_event(id)
  local given_up = redis.call('HGET', job_key(id), 'given_up')
  return { 'ok', attempt + 1, started, h[13] or 'fit', given_up or '' }
end

-- Lists of datasets and trees: the hash `<name>:<id>`, with name `dataset` or `tree`, and sorted
-- sets by tenant and, if there is one, group.
local function index_lists(name, tenant, group)
  local base = P .. name .. 's:' .. tenant
  if group == '' then return { base } end
  return { base, base .. ':group:' .. group }
end
-- Put a job, dataset or tree into the lists of the tags of its annotation (JSON).
local function tag(name, id, annotation)
  local h = redis.call('HMGET', P .. name .. ':' .. id, 'tenant', 'listed')
  if name == 'job' and h[2] ~= '1' then return end
  for _, tag in ipairs(cjson.decode(annotation).tags) do
    redis.call('ZADD', P .. name .. 's:' .. h[1] .. ':tag:' .. tag, 0, id)
  end
end
-- Set the annotation that it is made with, or ''; one that was set before stays.
local function annotate_first(name, id, annotation)
  if annotation == '' then return end
  if redis.call('HSETNX', P .. name .. ':' .. id, 'annotation', annotation) == 1 then
    tag(name, id, annotation)
  end
end
-- bytes, key : of a dataset, or of the job of a tree ('' and 0 otherwise). ref : the job that a
-- dataset needs. expires : ms or ''. digest : the sha256 of a dataset's content, or ''. annotation :
-- what it is made with, or ''.
local function index_put(name, id, tenant, group, facts, bytes, key, ref, expires, digest, annotation)
  local own = P .. name .. ':' .. id
  local old = redis.call('HGET', own, 'bytes')
  if not old then use(tenant, key, name .. 's', 1) end
  use(tenant, key, 'bytes', tonumber(bytes) - tonumber(old or '0'))
  redis.call('HSET', own, 'tenant', tenant, 'group', group, 'facts', facts, 'bytes', bytes,
    'key', key, 'ref', ref)
  for _, list in ipairs(index_lists(name, tenant, group)) do redis.call('ZADD', list, 0, id) end
  if digest ~= '' then
    redis.call('HSET', own, 'digest', digest)
    redis.call('ZADD', P .. name .. 's:' .. tenant .. ':content:' .. digest, 0, id)
  end
  if ref ~= '' then redis.call('SADD', P .. 'needed:' .. ref, id) end
  if expires ~= '' then redis.call('ZADD', P .. 'expiries', expires, id) end
  annotate_first(name, id, annotation)
end
-- Take a job, dataset or tree out of the lists of its tags.
local function untag(name, id)
  local h = redis.call('HMGET', P .. name .. ':' .. id, 'tenant', 'annotation')
  if not h[2] then return end
  for _, tag in ipairs(cjson.decode(h[2]).tags) do
    redis.call('ZREM', P .. name .. 's:' .. h[1] .. ':tag:' .. tag, id)
  end
end
local function index_drop(name, id)
  local h = redis.call('HMGET', P .. name .. ':' .. id, 'tenant', 'group', 'bytes', 'key', 'ref',
    'digest')
  if not h[1] then return 0 end
  if h[3] then
    use(h[1], h[4], name .. 's', -1)
    use(h[1], h[4], 'bytes', -tonumber(h[3]))
  end
  beside_drop(id, h[1], h[4])
  if h[5] and h[5] ~= '' then redis.call('SREM', P .. 'needed:' .. h[5], id) end
  redis.call('ZREM', P .. 'expiries', id)
  for _, key in ipairs(index_lists(name, h[1], h[2])) do redis.call('ZREM', key, id) end
  if h[6] then redis.call('ZREM', P .. name .. 's:' .. h[1] .. ':content:' .. h[6], id) end
  untag(name, id)
  return redis.call('DEL', P .. name .. ':' .. id)
end

-- What may be removed. `needed:<id>` has the jobs and datasets that need a dataset or job;
-- `expiries` is scored by the time in ms from which a dataset or job may go. Once it is taken for
-- removal (`retire`), no new job may need it: the hash `going` has it with its tenant until it is
-- removed from the store (a sweep goes on with what a dead process left), and `gone`, scored by time
-- in ms, for ten minutes more, until no request can come that has seen it before.
local function is_going(id)
  return redis.call('HEXISTS', P .. 'going', id) == 1 or redis.call('ZSCORE', P .. 'gone', id)
end
local function refs_add(id, refs)
  for _, ref in ipairs(cjson.decode(refs)) do redis.call('SADD', P .. 'needed:' .. ref, id) end
end
local function refs_drop(id, refs)
  for _, ref in ipairs(cjson.decode(refs or '[]')) do redis.call('SREM', P .. 'needed:' .. ref, id) end
end

-- The board of an attempt whose fit is split into pieces. The hash `board:<job>:<fence>` has piece
-- k as `p<k>`, the token of its holder as `t<k>`, how often helpers took it as `c<k>`, as `mine` the
-- piece that the attempt itself holds, and as `out` how many takes were not reported on. `...:left` has the unfinished pieces, scored by
-- the time in ms from which they may be taken (free pieces by their number, which is far in the
-- past), `...:own` those that only the attempt may take, `...:done` those finished by helpers.
-- `boards` is scored by the time at which a sweeper must check them.
local function board_key(id, fence) return P .. 'board:' .. id .. ':' .. fence end

-- Whether the attempt is running and still holds its lease.
local function goes_on(id, fence)
  local h = redis.call('HMGET', job_key(id), 'status', 'fence', 'lease')
  return h[1] == 'running' and h[2] == fence and tonumber(h[3]) > now
end

-- Remove a board; returns whether a helper has taken a piece and not reported on it: it may still
-- store that piece, and die before it removes it.
local function board_drop(key)
  local out = redis.call('HGET', key, 'out')
  redis.call('DEL', key, key .. ':left', key .. ':own', key .. ':done')
  return (tonumber(out) or 0) > 0
end

-- Webhooks of jobs that have ended. A job's `hook_to` is the receiver of its webhook, '<tenant>
-- <host:port>', and `hook` its status. `hooks:<to>` has the jobs whose webhooks must be sent there,
-- scored by the time in ms at which they are due or, during sending, at which the lease ends;
-- `hooks` has every <to>, scored by the time of its next check. `hooks_busy:<tenant>` has the
-- webhooks being sent, '<host:port> <job>', scored by the end of the lease. `hooks_held:<tenant>` has
-- receivers that were due while their tenant was at its limit, scored by that time: `hooks` does not
-- have them, so that nobody waits behind thousands of them. Each lease that ends lets one out; one
-- with a webhook that is being sent is in `hooks` until its lease ends, too. `hooks_slow` has the
-- receivers that did not answer soon the last time, scored by that time. A move of an alias may
-- stand for a job, as '<tenant>/<alias>/<number>': what a job's record says of its webhook is then in
-- `hook:<move>`, from when it is due until it is sent or given up.
local function hook_of_move(id) return string.find(id, '/', 1, true) ~= nil end

local function hook_key(id)
  if hook_of_move(id) then return P .. 'hook:' .. id end
  return job_key(id)
end

local function hook_is(id, old, new)
  if old then redis.call('HINCRBY', P .. 'hook_counts', old, -1) end
  if new then
    redis.call('HINCRBY', P .. 'hook_counts', new, 1)
    redis.call('HSET', hook_key(id), 'hook', new)
    if not hook_of_move(id) then touch(id) end
  end
end

local function hook_parts(to) return string.match(to, '^(%S+) (%S+)$') end

-- Schedule the next check of a receiver for when its first webhook is due.
local function hook_look(to)
  local first = redis.call('ZRANGE', P .. 'hooks:' .. to, 0, 0, 'WITHSCORES')
  if first[1] then redis.call('ZADD', P .. 'hooks', int(tonumber(first[2])), to)
  else
    redis.call('ZREM', P .. 'hooks', to)
    redis.call('ZREM', P .. 'hooks_held:' .. hook_parts(to), to)
  end
end

-- Whether a receiver did not answer soon the last time.
local function hook_slow(to) return redis.call('ZSCORE', P .. 'hooks_slow', to) and true or false end

-- What a tenant's webhooks that are being sent are kept in, without those whose lease has ended.
local function hook_busy(tenant)
  local busy = P .. 'hooks_busy:' .. tenant
  redis.call('ZREMRANGEBYSCORE', busy, '-inf', int(now))
  return busy
end

-- Let out so many held receivers of a tenant that have a webhook due.
local function hook_let_out(tenant, n)
  while n > 0 do
    local to = redis.call('ZPOPMIN', P .. 'hooks_held:' .. tenant)[1]
    if not to then return end
    hook_look(to)
    if tonumber(redis.call('ZSCORE', P .. 'hooks', to) or 'inf') <= now then n = n - 1 end
  end
end

-- End the lease of a webhook.
local function hook_free(id, to)
  local tenant, place = hook_parts(to)
  redis.call('HDEL', hook_key(id), 'hook_token', 'hook_due')
  if redis.call('ZREM', P .. 'hooks_busy:' .. tenant, place .. ' ' .. id) == 1 then
    hook_let_out(tenant, 1)
  end
end

-- Schedule a webhook for a time in ms.
local function hook_later(id, to, at)
  hook_free(id, to)
  redis.call('HSET', hook_key(id), 'hook_due', int(at))
  redis.call('ZADD', P .. 'hooks:' .. to, int(at), id)
  hook_look(to)
end

-- Remove a webhook that must not be sent any more.
local function hook_over(id, to)
  hook_free(id, to)
  redis.call('ZREM', P .. 'hooks:' .. to, id)
  hook_look(to)
end
