#!lua flags=allow-oom
-- Take something out of its lists. ARGV: name, id. Answers 1 where there was one.
return index_drop(ARGV[2], ARGV[3])
