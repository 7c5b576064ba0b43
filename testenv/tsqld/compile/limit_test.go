package compile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitIsNotBareParameter expects that LIMIT is not a bare parameter, for which SQLite would
// prepare the statement again at each run.
func TestLimitIsNotBareParameter(t *testing.T) {
	b := newFixture(t, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY); INSERT INTO dbo.t VALUES (1), (2), (3)")
	b.declare("@n", "int", "2")
	require.NotContains(t, b.plan("SELECT TOP (@n) id FROM dbo.t ORDER BY id"), "LIMIT ?")
	require.NotContains(t, b.plan("SELECT id FROM dbo.t ORDER BY id OFFSET @n ROWS FETCH NEXT @n ROWS ONLY"), "LIMIT ?")
	require.Contains(t, b.plan("SELECT TOP (2) id FROM dbo.t ORDER BY id"), "LIMIT 2")
}

// TestConstantJoinGuard expects that an outer join does not read a table if the constant part of
// its condition is false.
func TestConstantJoinGuard(t *testing.T) {
	b := newFixture(t, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY); INSERT INTO dbo.t VALUES (1), (2), (3)")
	b.declare("@n", "int", "2")
	guard := ".rowid >= CASE WHEN ?1 THEN"
	require.Contains(t, b.plan("SELECT v.x, t.id FROM (VALUES (1)) v(x) LEFT JOIN dbo.t t ON 1 = 0"), guard)
	require.Contains(t, b.plan("SELECT v.x, t.id FROM (VALUES (1)) v(x) LEFT JOIN dbo.t t ON t.id = v.x AND @n > 3"), guard)
	require.NotContains(t, b.plan("SELECT v.x, t.id FROM (VALUES (1)) v(x) LEFT JOIN dbo.t t ON t.id = v.x"), ".rowid")
	require.NotContains(t, b.plan("SELECT v.x, t.id FROM (VALUES (1)) v(x) LEFT JOIN dbo.t t ON t.id = @n"), ".rowid")
}
