#!lua flags=no-writes,allow-oom
-- Which datasets or trees may mention all of some words. ARGV: name, ids as JSON, the words, casefolded
-- and in ASCII. Returns the places of these ids, from 1. An entry whose text is not all ASCII may
-- mention any: JSON escapes it, and letters such as a Kelvin sign are ASCII once they are folded.
-- So may one of many columns, and what follows once enough has been looked through: others wait.
local LONG, left = 2 ^ 14, 2 ^ 23
local kept = {}
for i, id in ipairs(cjson.decode(ARGV[3])) do
  local key = P .. ARGV[2] .. ':' .. id
  local n = redis.call('HSTRLEN', key, 'facts')
  local may = n > 0
  n = n + redis.call('HSTRLEN', key, 'annotation')
  if may and n <= LONG and left > 0 then
    left = left - n * (#ARGV - 3)
    local h = redis.call('HMGET', key, 'facts', 'annotation')
    local text = string.lower(h[1] .. (h[2] or ''))
    if not string.find(text, '\\u', 1, true) and not string.find(text, '[\128-\255]') then
      for j = 4, #ARGV do
        may = may and string.find(text, ARGV[j], 1, true) and true
      end
    end
  end
  if may then kept[#kept + 1] = i end
end
return kept
