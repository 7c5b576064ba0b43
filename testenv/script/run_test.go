package script

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// TestRewriteWritesWhatTheServerReturns runs a script without expectations twice: first to write
// them, then to compare them.
func TestRewriteWritesWhatTheServerReturns(t *testing.T) {
	const before = `# verified: no

let $id $name
SELECT CAST('00000000-0000-0000-0000-0000000000aB' AS UNIQUEIDENTIFIER), N'name of it';

# A comment stays.
subtest first
query GTIR,D rowsort
SELECT '$id' AS notguid INTO #t;
SELECT CAST('$id' AS UNIQUEIDENTIFIER) AS id, N'$name' AS name, 7 AS i, 1.50 AS r UNION ALL SELECT NULL, N'', 8, NULL;
GO
SELECT CAST('2026-01-02T03:04:05.6' AS DATETIME2(7)) AS at WHERE 1 = 1;

subtest second
session other
query I
SELECT CASE WHEN OBJECT_ID('tempdb..#t') IS NULL THEN 0 ELSE 1 END;
----
5

session default
skipif embedded
statement ok
THROW 50000, N'not here', 1;

onlyif sqlserver
statement ok
THROW 50000, N'nor here', 1;

query T
SELECT N'a' UNION ALL SELECT N'b' ORDER BY 1;
----
<any>
b

statement error 50001 ^it is name of it$
THROW 50001, N'it is $name', 1;
`
	const after = `# verified: no

let $id $name
SELECT CAST('00000000-0000-0000-0000-0000000000aB' AS UNIQUEIDENTIFIER), N'name of it';

# A comment stays.
subtest first
query GTIR,D rowsort
SELECT '$id' AS notguid INTO #t;
SELECT CAST('$id' AS UNIQUEIDENTIFIER) AS id, N'$name' AS name, 7 AS i, 1.50 AS r UNION ALL SELECT NULL, N'', 8, NULL;
GO
SELECT CAST('2026-01-02T03:04:05.6' AS DATETIME2(7)) AS at WHERE 1 = 1;
----
$id | $name | 7 | 1.50
NULL | (empty) | 8 | NULL
----
2026-01-02T03:04:05.6

subtest second
session other
query I
SELECT CASE WHEN OBJECT_ID('tempdb..#t') IS NULL THEN 0 ELSE 1 END;
----
0

session default
skipif embedded
statement ok
THROW 50000, N'not here', 1;

onlyif sqlserver
statement ok
THROW 50000, N'nor here', 1;

query T
SELECT N'a' UNION ALL SELECT N'b' ORDER BY 1;
----
<any>
b

statement error 50001 ^it is name of it$
THROW 50001, N'it is $name', 1;
`
	path := filepath.Join(t.TempDir(), "script.txt")
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	env := testenv.Embedded(t, testenv.Options{})
	open := func(t testing.TB, _ string) Session { return Connect(t, env.DB(t, "master")) }
	old := *rewrite
	defer func() { *rewrite = old }()

	*rewrite = true
	t.Run("rewrite", func(t *testing.T) { Run(t, path, env.Name, open) })
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, after, string(text))

	*rewrite = false
	t.Run("again", func(t *testing.T) { Run(t, path, env.Name, open) })
}
