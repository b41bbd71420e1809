#!lua flags=allow-oom
-- Take a dataset or tree out of its lists. ARGV: name, id. Answers 1 if there was one.
return index_drop(ARGV[2], ARGV[3])
