#!lua flags=allow-oom
-- Boards whose attempts are over and whose helpers' leases have expired: their pieces in the store
-- must be removed. ARGV: largest number of boards, ms until a sweeper checks again a board that is
-- in use, and one that is returned here. Returns rows '<job> <fence> <tenant>'.
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
