#!lua
-- Reserve room for an upload, or change what it has reserved. ARGV: tenant, key or '', token, bytes,
-- datasets, ms for which it holds, limits as JSON, whether more bytes may follow (0 or 1). Returns
-- {} or what `exceeded` does.
local tenant, key, token = ARGV[2], ARGV[3], ARGV[4]
local needed = { bytes = tonumber(ARGV[5]), datasets = tonumber(ARGV[6]) }
local why = exceeded(ARGV[8], tenant, key, needed, ARGV[9] == '1', token)
if why then return why end
redis.call('HSET', P .. 'reserved:' .. tenant, token,
  ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. int(now + ARGV[7]) .. ' ' .. key)
return {}
