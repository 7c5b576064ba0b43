package exec

import "testing"

// TestEnableIndexDisabledByOtherSession: the session that enables an index has read the layout of
// the database before another session disabled the index.
func TestEnableIndexDisabledByOtherSession(t *testing.T) {
	inst := newInstance(t)
	a, b := workSession(t, inst), workSession(t, inst)
	must(t, a, "CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX ix ON t (n)")
	must(t, a, "SELECT id FROM t WHERE n = 1")
	for range 3 {
		must(t, b, "ALTER INDEX ix ON t DISABLE")
		must(t, a, "ALTER INDEX ix ON t REBUILD")
		must(t, a, "ALTER INDEX ix ON t DISABLE")
		must(t, b, "ALTER INDEX ix ON t REBUILD")
	}
}
