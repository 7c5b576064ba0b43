package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNullableResultColumns has queries over columns that are NOT NULL whose results can be NULL
// nevertheless. The recorder fails on a NULL in a column that is declared NOT NULL: SqlClient would
// read a wrong value.
func TestNullableResultColumns(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE TABLE a (id int NOT NULL PRIMARY KEY, b bit NOT NULL); INSERT a VALUES (1, 1)")
	must(t, s, "CREATE TABLE e (id int NOT NULL, f float NOT NULL)")
	must(t, s, "CREATE VIEW v AS SELECT a.id AS x, e.id AS y FROM a LEFT JOIN e ON e.id = a.id")
	must(t, s,
		"CREATE FUNCTION i (@p int) RETURNS TABLE AS RETURN SELECT a.id AS x, e.f AS y FROM a LEFT JOIN e ON e.id = @p")
	for _, query := range []string{
		"SELECT e.id FROM a LEFT JOIN e ON e.id = a.id",
		"SELECT a.id FROM e FULL JOIN a ON e.id = a.id UNION ALL SELECT e.id FROM e FULL JOIN a ON e.id = a.id",
		"SELECT * FROM e RIGHT JOIN a ON e.id = a.id",
		"SELECT e.id, x.id FROM a LEFT JOIN (e JOIN a x ON x.id = e.id) ON e.id = a.id",
		"SELECT q.x FROM a LEFT JOIN (SELECT 1 AS x) q ON 1 = 0",
		"SELECT q.n FROM a LEFT JOIN (SELECT COUNT(*) AS n FROM e) q ON 1 = 0",
		"SELECT q.x FROM a OUTER APPLY (SELECT 1 AS x WHERE 1 = 0) q",
		"SELECT q.id FROM a OUTER APPLY (SELECT TOP 1 e.id FROM e ORDER BY f) q",
		"SELECT (SELECT 1 WHERE 1 = 0), (SELECT id FROM e)",
		"SELECT CASE WHEN b = 0 THEN 1 END, IIF(b = 0, 1, NULL), NULLIF(id, 1), CHOOSE(3, 1, 2), COALESCE(NULLIF(id, 1), NULLIF(2, 2)), ISNULL(NULLIF(1, 1), NULLIF(2, 2)) FROM a",
		"SELECT MAX(id), SUM(f), MIN(id), AVG(f) FROM e",
		"SELECT id, b, COUNT(*) FROM a GROUP BY GROUPING SETS ((id), (b), ())",
		"SELECT id, COUNT(*) FROM a GROUP BY ROLLUP (id)",
		"SELECT LAG(id) OVER (ORDER BY id), FIRST_VALUE(id) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING), SUM(id) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) FROM a",
		"SELECT x, y FROM v",
		"SELECT x, y FROM i(5)",
		"WITH c AS (SELECT e.id FROM a LEFT JOIN e ON e.id = a.id) SELECT id FROM c",
		"WITH r AS (SELECT 1 AS n, a.id AS x FROM a UNION ALL SELECT n + 1, NULLIF(x, x) FROM r WHERE n < 2) SELECT n, x FROM r",
		"SELECT 1 AS x UNION ALL SELECT NULL",
		"SELECT id FROM a EXCEPT SELECT 2 UNION SELECT NULLIF(1, 1)",
		"SELECT x FROM (VALUES (1), (NULL)) q(x)",
		"SELECT TRY_CAST('x' AS int), TRY_CONVERT(int, 'y')",
		"SELECT * FROM (SELECT id, b FROM a) s PIVOT (MAX(id) FOR b IN ([0], [1])) p",
		"MERGE e USING a ON e.id = a.id WHEN NOT MATCHED THEN INSERT VALUES (a.id, 1) OUTPUT $action, deleted.id, deleted.f, inserted.id;",
		"MERGE e USING a ON e.id = a.id WHEN MATCHED THEN DELETE OUTPUT $action, deleted.id, inserted.id, inserted.f;",
		"DELETE a OUTPUT deleted.id, q.id FROM a LEFT JOIN e q ON q.id = a.id",
	} {
		got := must(t, s, query)
		require.Contains(t, got, "NULL", query)
	}
}
