package scheduler_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// requireAbsent checks that a secret is in no table of the control database, and not in the log.
func requireAbsent(t *testing.T, f *front.Front, secret string) {
	t.Helper()
	require.NotContains(t, f.Log.String(), secret)
	db := f.DB(t, f.Control)
	rows, err := db.QueryContext(t.Context(), `SELECT s.name, t.name, c.name
FROM sys.tables AS t
INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
INNER JOIN sys.columns AS c ON c.object_id = t.object_id
INNER JOIN sys.types AS y ON y.user_type_id = c.user_type_id
WHERE y.name IN (N'nvarchar', N'varchar', N'varbinary')`)
	require.NoError(t, err)
	var columns [][3]string
	for rows.Next() {
		var c [3]string
		require.NoError(t, rows.Scan(&c[0], &c[1], &c[2]))
		columns = append(columns, c)
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(columns), 50)
	for _, c := range columns {
		values, err := db.QueryContext(t.Context(), "SELECT ["+c[2]+"] FROM ["+c[0]+"].["+c[1]+"] WHERE ["+c[2]+"] IS NOT NULL")
		require.NoError(t, err)
		for values.Next() {
			var text []byte
			require.NoError(t, values.Scan(&text))
			require.False(t, strings.Contains(string(text), secret), "%s.%s.%s holds the secret", c[0], c[1], c[2])
		}
		require.NoError(t, values.Err())
	}
}
