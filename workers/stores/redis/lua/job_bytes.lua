#!lua flags=allow-oom
-- Set the bytes that a job keeps, once some of its files were removed. ARGV: id, bytes.
job_bytes(ARGV[2], tonumber(ARGV[3]))
return 1
