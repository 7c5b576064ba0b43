package drift

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPage: names, options and messages are shown as text, and groups say how many databases they
// have beyond those that are named.
func TestPage(t *testing.T) {
	fingerprint := bytes.Repeat([]byte{0xab}, 32)
	state := drifts.SchemaState{
		Target: uuid.UUID{1}, Server: pagetest.Hostile, Database: pagetest.Hostile, Options: pagetest.Hostile, Fingerprint: fingerprint, FirstSeen: pagetest.Now, LastSeen: pagetest.Now,
		Changes: "dropped " + pagetest.Hostile,
	}
	named := []database{{state, "/ui/main/databases/x"}}
	same := func(n int) drifts.SameSchema {
		return drifts.SameSchema{
			Options: pagetest.Hostile, Fingerprint: fingerprint, Objects: 3, Databases: n, FirstSeen: pagetest.Now.Add(-time.Hour), NewestSeen: pagetest.Now, LastSeen: pagetest.Now,
		}
	}
	shown := pagetest.Render(t, files, "drift.html", &data{
		Job: pagetest.Hostile,
		Steps: []step{
			{Name: pagetest.Hostile, Group: pagetest.Hostile, GroupHref: "/g", Against: pagetest.Hostile, TSQL: "jobagent drift check"},
			{Name: "read", Group: "g", GroupHref: "/g", Against: "none"}, {Name: "compare", Group: "g", GroupHref: "/g", Against: "majority"},
		},
		Compared: []compared{{Options: pagetest.Hostile, Schemas: []schema{
			{SameSchema: same(9), Most: true, Baselines: []string{pagetest.Hostile}, Named: named}, {SameSchema: same(1), Says: pagetest.Hostile, Named: named},
		}}},
		MoreSchemas: true, Changes: named, MoreChanges: true,
		Baselines: []baseline{{drifts.Baseline{Name: pagetest.Hostile, Options: "o", Fingerprint: fingerprint, Source: pagetest.Hostile, Set: pagetest.Now, By: pagetest.Hostile}, "/d"}},
	})
	for _, text := range []string{"abababababab", "and <data", "9</data> databases", "1</data> database<", ">most<", "only records", "compares with the majority", "There are older changes."} {
		require.Contains(t, shown, text)
	}
	empty := pagetest.Render(t, files, "drift.html", &data{})
	require.Contains(t, empty, "No step of type Drift has read these databases.")
	require.Contains(t, empty, "There is no baseline.")
}
