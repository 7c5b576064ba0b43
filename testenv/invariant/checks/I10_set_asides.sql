-- I10: no range is set aside outside of a try: passes would leave out all runs in it (sql/DESIGN.md, "Set aside").
SELECT CONCAT(N'what passes leave out: ', z.kind, N' ', z.first_id, N' to ', z.last_id) AS detail
FROM jobs_internal.set_asides AS z
WHERE z.is_part = 1;
