#!lua flags=no-writes,allow-oom
-- Which datasets or trees may mention all of some words. ARGV: name, ids as JSON, the words, casefolded
-- and in ASCII. Returns the places of these ids, from 1. An entry whose text is not all ASCII may
-- mention any: JSON escapes it, and letters such as a Kelvin sign are ASCII once they are folded.
local kept = {}
for i, id in ipairs(cjson.decode(ARGV[3])) do
  local h = redis.call('HMGET', P .. ARGV[2] .. ':' .. id, 'facts', 'annotation')
  local text = string.lower((h[1] or '') .. (h[2] or ''))
  local may = h[1] and true or false
  if may and not string.find(text, '\\u', 1, true) and not string.find(text, '[\128-\255]') then
    for j = 4, #ARGV do
      may = may and string.find(text, ARGV[j], 1, true) and true
    end
  end
  if may then kept[#kept + 1] = i end
end
return kept
