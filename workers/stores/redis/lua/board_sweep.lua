#!lua flags=allow-oom
-- Boards whose attempts are over and whose helpers' leases have ended: their pieces in the store
-- are to be removed. ARGV: how many at most, ms until a sweeper looks again at a board that is in
-- use, and at one that is handed out. Answers rows '<job> <fence> <tenant>'.
local over = {}
for _, row in ipairs(redis.call('ZRANGEBYSCORE', P .. 'boards', '-inf', int(now), 'LIMIT', 0, ARGV[2])) do
  local id, fence = string.match(row, '^(%S+) (%S+)')
  local again = now + ARGV[3]
  if not goes_on(id, fence) then
    again = board_drop(board_key(id, fence))
    if again <= now then
      over[#over + 1] = row
      again = now + ARGV[4]
    end
  end
  redis.call('ZADD', P .. 'boards', int(again), row)
end
return over
