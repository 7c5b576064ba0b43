package exec

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRandomChangesAndTriggers makes random changes of two tables, one of which refers to the other
// and to itself. After each change the rows of a table must be the rows before, without those that
// its triggers have seen in deleted, and with those that they have seen in inserted.
func TestRandomChangesAndTriggers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE a (id int NOT NULL PRIMARY KEY, n int NULL, s varchar(20) NULL DEFAULT 'new', twice AS n * 2)
CREATE TABLE b (id int IDENTITY PRIMARY KEY, a int NULL REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE, up int NULL REFERENCES b, n int NOT NULL UNIQUE, v rowversion)
CREATE TABLE la (sign int, id int, n int, s varchar(20), twice int); CREATE TABLE lb (sign int, id int, a int, up int, n int, v binary(8))
GO
CREATE VIEW va AS SELECT id AS i, n AS m, s FROM a WHERE id < 1000 WITH CHECK OPTION
GO
CREATE TRIGGER ta ON a AFTER INSERT, UPDATE, DELETE AS
INSERT la SELECT -1, id, n, s, twice FROM deleted; INSERT la SELECT 1, id, n, s, twice FROM inserted
GO
CREATE TRIGGER tb ON b AFTER INSERT, UPDATE, DELETE AS
INSERT lb SELECT -1, id, a, up, n, v FROM deleted; INSERT lb SELECT 1, id, a, up, n, v FROM inserted`)
	read := func(query string) []string {
		var r recorder
		require.NoError(t, s.Batch(t.Context(), query, &r))
		rows := strings.Split(r.b.String(), "\n")[1:]
		rows = rows[:len(rows)-2] // the number of rows
		sort.Strings(rows)
		return rows
	}
	n := func() int { return random.IntN(40) }
	statements := []func() string{
		func() string { return fmt.Sprintf("INSERT a (id, n) VALUES (%d, %d), (%d, NULL)", n(), n(), n()) },
		func() string {
			return fmt.Sprintf("INSERT a (id, n, s) SELECT id + %d, n, s + 'x' FROM a WHERE n > %d", 1+n(), n())
		},
		func() string { return fmt.Sprintf("INSERT va (m, i) VALUES (%d, %d)", n(), n()) },
		func() string {
			return fmt.Sprintf("INSERT b (a, n) SELECT TOP (%d) id, id * 100 + %d FROM a", 1+n(), n())
		},
		func() string {
			return fmt.Sprintf("INSERT b (a, up, n) SELECT a, id, n + 10000 + %d FROM b WHERE id %% 3 = 0", n())
		},
		func() string { return fmt.Sprintf("UPDATE a SET n = n + 1, s = UPPER(s) WHERE id > %d", n()) },
		func() string { return fmt.Sprintf("UPDATE a SET id = id + %d", 1+n()) },
		func() string { return "UPDATE b SET n = n + 1" },
		func() string { return fmt.Sprintf("UPDATE va SET i = %d, m = 3 WHERE i = %d", n(), n()) },
		func() string {
			return fmt.Sprintf("UPDATE x SET n = x.n + y.id * 1000 FROM b AS x JOIN a AS y ON y.id = x.a WHERE y.n < %d", n())
		},
		func() string {
			return fmt.Sprintf("UPDATE TOP (%d) b SET up = NULL OUTPUT deleted.id INTO @t WHERE up IS NOT NULL", 1+n())
		},
		func() string { return fmt.Sprintf("DELETE a WHERE id > %d AND id < %d", n(), n()) },
		func() string { return fmt.Sprintf("DELETE TOP (%d) FROM b", 1+n()) },
		func() string { return fmt.Sprintf("DELETE x FROM b AS x JOIN a AS y ON y.id = x.a AND y.n = %d", n()) },
		func() string { return fmt.Sprintf("DELETE va WHERE m > %d", n()) },
		func() string {
			return fmt.Sprintf(`MERGE a USING (SELECT DISTINCT (n * 7 + %d) %% 40 AS id, %d AS n FROM b UNION SELECT %d, 1) AS s ON s.id = a.id
WHEN MATCHED AND a.n > 20 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n, id = a.id + 1 WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)
WHEN NOT MATCHED BY SOURCE AND a.id > 35 THEN DELETE;`, n(), n(), n())
		},
	}
	changes := 0
	for range 400 {
		tables := []struct{ all, log string }{
			{"SELECT id, n, s, twice FROM a", "id, n, s, twice FROM la"},
			{"SELECT id, a, up, n, CAST(v AS binary(8)) AS v FROM b", "id, a, up, n, v FROM lb"},
		}
		var want [][]string
		for _, x := range tables {
			want = append(want, read(x.all))
		}
		text := statements[random.IntN(len(statements))]()
		var r recorder
		require.NoError(t, s.Batch(t.Context(), "SET NOCOUNT ON; DECLARE @t TABLE (id int); "+text, &r))
		must(t, s, "SET NOCOUNT OFF") // error 8672 of MERGE ends the batch
		for i, x := range tables {
			left := map[string]int{}
			for _, row := range want[i] {
				left[row]++
			}
			for _, row := range read("SELECT " + x.log + " WHERE sign = -1") {
				left[row]--
				changes++
			}
			for _, row := range read("SELECT " + x.log + " WHERE sign = 1") {
				left[row]++
				changes++
			}
			for _, row := range read(x.all) {
				left[row]--
			}
			for row, n := range left {
				require.Zero(t, n, "%s: %s\n%s", text, row, r.b.String())
			}
		}
		must(t, s, "TRUNCATE TABLE la; TRUNCATE TABLE lb")
	}
	require.Greater(t, changes, 100)
}
