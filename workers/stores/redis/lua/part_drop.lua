#!lua flags=allow-oom
-- Forget the parts of an upload. ARGV: upload.
local own = P .. 'upload:' .. ARGV[2]
local h = redis.call('HGETALL', own)
local fields, bytes = {}, 0
for i = 1, #h, 2 do
  fields[h[i]] = h[i + 1]
  if tonumber(h[i]) then bytes = bytes + tonumber(h[i + 1]) end
end
if fields.tenant then use(fields.tenant, fields.key, 'bytes', -bytes) end
return redis.call('DEL', own)
