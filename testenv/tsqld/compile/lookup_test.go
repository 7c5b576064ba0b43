package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// owners is a schema whose table owned has no index on all of its keys.
const owners = `
CREATE TABLE owner (id bigint NOT NULL PRIMARY KEY, run bigint NOT NULL, state nvarchar(10) NULL, INDEX ix (run))
CREATE TABLE owned (id bigint NOT NULL PRIMARY KEY, run bigint NOT NULL, step bigint NULL, owner bigint NULL, name nvarchar(10) NULL, INDEX ix (run, step, owner), INDEX ix_owner (owner) WHERE step > 1)
CREATE TABLE #few (id bigint NOT NULL PRIMARY KEY)
`

// TestLookups checks which EXISTS SQLite runs only once: those that would otherwise read a table
// again for each row.
func TestLookups(t *testing.T) {
	b := newFixture(t, owners)
	b.declare("@run", "bigint", "1")
	for _, c := range []struct {
		sql  string
		once bool
	}{
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id)", true},
		{"SELECT id FROM owner o WHERE NOT EXISTS (SELECT 1 FROM owned w WHERE w.run = o.run AND w.owner = o.id)", true},
		{"SELECT id FROM owner o WHERE state = N'x' AND NOT EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id AND w.name = N'y')", true},
		{"SELECT COUNT(*) FROM owner o WHERE NOT EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id)", true},
		// An index finds the rows.
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.id = o.id AND w.name = N'x')", false},
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.run = o.run)", false},
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.run = o.run AND w.step = o.id)", false},
		// The outer query reads few rows.
		{"SELECT id FROM owner o WHERE o.run = @run AND NOT EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id)", false},
		{"SELECT TOP (1) id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id)", false},
		{"SELECT id FROM #few o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id)", false},
		// Other parts name the outer query, or may fail.
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id AND w.name = o.state)", false},
		{"SELECT id FROM owner o WHERE EXISTS (SELECT 1 FROM owned w WHERE w.owner = o.id AND CAST(w.name AS int) = 1)", false},
		{"SELECT id FROM owner o WHERE EXISTS (SELECT MAX(w.id) FROM owned w WHERE w.owner = o.id)", false},
	} {
		plan := b.plan(c.sql)
		require.Equal(t, c.once, strings.Contains(plan, " IN (SELECT "), "%s\n%s", c.sql, plan)
	}
}
