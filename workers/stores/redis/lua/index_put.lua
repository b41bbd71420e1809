#!lua
-- Add a dataset or tree to its lists. ARGV: name, id, tenant, group or '', facts as JSON.
index_put(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
return 1
