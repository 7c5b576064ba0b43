package exec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutputInto executes changes with OUTPUT into a table variable twice: unchanged, and with a
// condition in WHERE that differs between rows, so that the rows go through a spool. Both must have
// the same result.
func TestOutputInto(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	const setup = `DROP TABLE IF EXISTS dbo.child; DROP TABLE IF EXISTS dbo.t;
CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, grp bigint NOT NULL, code uniqueidentifier NULL, name nvarchar(10) COLLATE Latin1_General_CI_AS NULL, a int NULL, twice AS a * 2, CHECK (a < 1000), UNIQUE (grp, name));
CREATE TABLE dbo.child (id int NOT NULL PRIMARY KEY, t int NOT NULL REFERENCES dbo.t (id));
INSERT INTO dbo.t (id, grp, code, name, a) VALUES (1, 1, '11111111-1111-1111-1111-111111111111', N'one', 10), (2, 1, NULL, N'two', 20), (3, 2, '33333333-3333-3333-3333-333333333333', N'one', 30), (4, 2, NULL, NULL, NULL);
INSERT INTO dbo.child VALUES (1, 1)`
	const declare = `DECLARE @log TABLE (id int NULL, old int NULL, new int NULL, what nvarchar(20) NULL, at int NOT NULL DEFAULT 7);
DECLARE @v TABLE (id int NOT NULL PRIMARY KEY, n int NOT NULL, code uniqueidentifier NULL UNIQUE, word nvarchar(10) COLLATE Latin1_General_CS_AS NULL, INDEX ix (n));
INSERT INTO @v VALUES (1, 2, '11111111-1111-1111-1111-111111111111', N'ONE'), (2, 4, '33333333-3333-3333-3333-333333333333', N'one'), (3, 4, NULL, NULL), (9, 1, NEWID(), NULL);
DECLARE @one int = 1, @low int = 0;
BEGIN TRY
`
	const rest = `;
SELECT @@ROWCOUNT AS changed
END TRY
BEGIN CATCH
SELECT ERROR_NUMBER() AS error, @@TRANCOUNT AS trancount, XACT_STATE() AS state
END CATCH;
SELECT * FROM @log ORDER BY id, old, new, what;
IF @@TRANCOUNT > 0 ROLLBACK;
SELECT id, grp, name, a, twice FROM dbo.t ORDER BY id`
	for _, c := range []struct{ name, sql, want string }{
		{
			"Alone",
			"UPDATE dbo.t SET a = a + 1, name = N'x' OUTPUT inserted.id, deleted.a, inserted.twice, deleted.name INTO @log (id, old, new, what) WHERE id IN (1, 3) AND id > @low",
			"1 | 10 | 22 | one | 7\n3 | 30 | 62 | one | 7\n",
		},
		{
			"Joined",
			"UPDATE x SET x.a = v.n OUTPUT inserted.id, deleted.a, inserted.a, v.word INTO @log (id, old, new, what) FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id WHERE v.n > @one",
			"1 | 10 | 2 | ONE | 7\n2 | 20 | 4 | one | 7\n3 | 30 | 4 | NULL | 7\n",
		},
		{
			"ByExpression",
			"UPDATE x SET x.a = v.n OUTPUT deleted.id, deleted.a, inserted.a, v.word INTO @log (id, old, new, what) FROM dbo.t AS x, @v AS v WHERE v.id = x.id - @one",
			"2 | 20 | 2 | ONE | 7\n3 | 30 | 4 | one | 7\n4 | NULL | 4 | NULL | 7\n",
		},
		{
			"ByUnique",
			"UPDATE x SET x.a = v.n OUTPUT deleted.id, deleted.a, inserted.a, v.word INTO @log (id, old, new, what) FROM dbo.t AS x INNER JOIN @v AS v ON v.code = x.code WHERE x.a > 0",
			"1 | 10 | 2 | ONE | 7\n3 | 30 | 4 | one | 7\n",
		},
		{
			"ByChain",
			"UPDATE x SET x.a = w.id OUTPUT deleted.id, v.id, w.id, w.word INTO @log (id, old, new, what) FROM @v AS w INNER JOIN @v AS v ON v.id = w.id + 1 INNER JOIN dbo.t AS x ON x.id = w.id WHERE w.id = x.id AND w.id > 0",
			"1 | 2 | 1 | ONE | 7\n2 | 3 | 2 | one | 7\n",
		},
		{
			"Self",
			"UPDATE x SET x.a = y.a OUTPUT deleted.id, deleted.a, inserted.a, y.name INTO @log (id, old, new, what) FROM dbo.t AS x INNER JOIN dbo.t AS y ON y.id = x.id + 1 WHERE x.id > 0",
			"1 | 10 | 20 | two | 7\n2 | 20 | 30 | one | 7\n3 | 30 | NULL | NULL | 7\n",
		},
		{
			"Several",
			"UPDATE x SET x.a = v.n OUTPUT deleted.id, inserted.a INTO @log (id, new) FROM dbo.t AS x INNER JOIN @v AS v ON v.n = x.grp * 4 WHERE x.id = 1",
			"1 | NULL | 4 | NULL | 7\n",
		},
		{
			"SeveralByText",
			"UPDATE x SET x.a = 5 OUTPUT deleted.id, inserted.a INTO @log (id, new) FROM @v AS v INNER JOIN dbo.t AS x ON x.grp = 1 AND x.name = v.word COLLATE Latin1_General_CI_AS WHERE v.id > 0",
			"1 | NULL | 5 | NULL | 7\n",
		},
		{
			"IntoItsSource",
			"INSERT INTO @log (id) VALUES (1), (2); UPDATE x SET x.a = 5 OUTPUT deleted.id + 1 INTO @log (id) FROM @log AS l INNER JOIN dbo.t AS x ON x.id = l.id WHERE l.at = 7",
			"1 | NULL | NULL | NULL | 7\n2 | NULL | NULL | NULL | 7\n2 | NULL | NULL | NULL | 7\n3 | NULL | NULL | NULL | 7\n",
		},
		{
			"Query",
			"UPDATE x SET x.a = (SELECT SUM(y.a) FROM dbo.t AS y WHERE y.id <> x.id) OUTPUT deleted.id, deleted.a, inserted.a INTO @log (id, old, new) FROM dbo.t AS x WHERE x.id < 3",
			"1 | 10 | 50 | NULL | 7\n2 | 20 | 40 | NULL | 7\n",
		},
		{
			"Left",
			"UPDATE x SET x.a = v.n OUTPUT deleted.id, deleted.a, inserted.a INTO @log (id, old, new) FROM dbo.t AS x LEFT JOIN @v AS v ON v.id = x.id AND v.n = 2 WHERE x.id < 3",
			"1 | 10 | 2 | NULL | 7\n2 | 20 | NULL | NULL | 7\n",
		},
		{
			"Delete",
			"DELETE FROM dbo.t OUTPUT deleted.id, deleted.a, deleted.twice, deleted.name INTO @log (id, old, new, what) WHERE id > 1 AND a IS NOT NULL",
			"2 | 20 | 40 | two | 7\n3 | 30 | 60 | one | 7\n",
		},
		{
			"DeleteJoined",
			"DELETE x OUTPUT deleted.id, v.n, deleted.name INTO @log (id, old, what) FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id WHERE x.id > 1",
			"2 | 4 | NULL | two | 7\n3 | 4 | NULL | one | 7\n",
		},
		{"Check", "UPDATE x SET x.a = x.a * 50 OUTPUT deleted.id INTO @log (id) FROM dbo.t AS x WHERE x.id > 0", ""},
		{"ForeignKey", "DELETE FROM dbo.t OUTPUT deleted.id INTO @log (id) WHERE id > 0", ""},
		{"Null", "UPDATE dbo.t SET a = 1 OUTPUT NULL INTO @log (at) WHERE id > 0", ""},
		{
			"Aborted",
			"SET XACT_ABORT ON; BEGIN TRAN; UPDATE dbo.t SET a = 1 OUTPUT deleted.id INTO @log (id) WHERE id = 2; UPDATE x SET x.a = x.a * 50 OUTPUT deleted.id INTO @log (id) FROM dbo.t AS x WHERE x.id > 0",
			"2 | NULL | NULL | NULL | 7\n",
		},
		{
			"Nested",
			"BEGIN TRAN; UPDATE dbo.t SET a = 1 OUTPUT deleted.id INTO @log (id) WHERE id = 2; UPDATE x SET x.a = 5000 OUTPUT deleted.id INTO @log (id) FROM dbo.t AS x WHERE x.id > 0",
			"2 | NULL | NULL | NULL | 7\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(sql string) string {
				must(t, s, setup)
				defer must(t, s, "SET XACT_ABORT OFF")
				return must(t, s, declare+sql+rest)
			}
			got := run(c.sql)
			require.Contains(t, got+"\n", "what nvarchar(20), at int not null]\n"+c.want+"(")
			require.Equal(t, run(strings.ReplaceAll(c.sql, " WHERE ", " WHERE NEWID() IS NOT NULL AND ")), got)
		})
	}
}
