package compile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitIsNoParameter keeps SQLite from preparing statements with TOP (@n) anew each time that they run.
func TestLimitIsNoParameter(t *testing.T) {
	b := newBench(t, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY); INSERT INTO dbo.t VALUES (1), (2), (3)")
	b.declare("@n", "int", "2")
	require.NotContains(t, b.plan("SELECT TOP (@n) id FROM dbo.t ORDER BY id"), "LIMIT ?")
	require.NotContains(t, b.plan("SELECT id FROM dbo.t ORDER BY id OFFSET @n ROWS FETCH NEXT @n ROWS ONLY"), "LIMIT ?")
	require.Contains(t, b.plan("SELECT TOP (2) id FROM dbo.t ORDER BY id"), "LIMIT 2")
}
