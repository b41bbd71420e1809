#!lua flags=allow-oom
-- Boards whose attempts are over: their pieces in the store must be removed. ARGV: largest number of
-- boards, ms until a sweeper checks again a board that is in use, one that is returned here, and one
-- of which a helper may still store a piece. Returns rows '<job> <fence> <tenant>', of the last kind
-- with ' late' at the end.
local over = {}
for _, row in ipairs(redis.call('ZRANGEBYSCORE', P .. 'boards', '-inf', int(now), 'LIMIT', 0, ARGV[2])) do
  local id, fence = string.match(row, '^(%S+) (%S+)')
  local again = ARGV[3]
  if not goes_on(id, fence) then
    local late = board_drop(board_key(id, fence))
    over[#over + 1] = late and row .. ' late' or row
    again = late and ARGV[5] or ARGV[4]
  end
  redis.call('ZADD', P .. 'boards', int(now + again), row)
end
return over
