#!lua flags=allow-oom
-- Remove a dataset or tree from its lists. ARGV: name, id. Returns 1 if it was listed.
return index_drop(ARGV[2], ARGV[3])
