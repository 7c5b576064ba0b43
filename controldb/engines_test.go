package controldb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/testenv"
)

func TestEngineNotice(t *testing.T) {
	t.Parallel()
	a := fleet.Agent{Host: "a", Live: true, Engine: "jobs/schedule 2, zones 111", ZoneData: "2025a of /usr/share/zoneinfo"}
	b := fleet.Agent{Host: "b", Live: true, Engine: "jobs/schedule 2, zones 222", ZoneData: "2025b of /usr/share/zoneinfo"}
	older, dead, same := b, b, a
	older.Engine, dead.Live, same.Host = "", false, "c"
	for name, list := range map[string][]fleet.Agent{"none": nil, "one": {a}, "same": {a, same}, "unknown": {a, older}, "dead": {a, dead}} {
		found, advice := fleet.EngineNotice(list)
		require.Empty(t, found+advice, name)
	}
	found, advice := fleet.EngineNotice([]fleet.Agent{b, a, same, a})
	require.Equal(t, "live agents have different time zone rules: jobs/schedule 2, zones 111 from 2025a of /usr/share/zoneinfo on a, c; "+
		"jobs/schedule 2, zones 222 from 2025b of /usr/share/zoneinfo on b", found)
	require.Contains(t, advice, "ZONEINFO")
	b.Engine = "jobs/schedule 3, zones 111"
	found, advice = fleet.EngineNotice([]fleet.Agent{b, a})
	require.Contains(t, found, "different engines for schedules: ")
	require.NotContains(t, advice, "ZONEINFO")
	b.Engine = "jobs/schedule 3, zones 222"
	found, advice = fleet.EngineNotice([]fleet.Agent{b, a})
	require.Contains(t, found, "different engines for schedules and different time zone rules: ")
	require.Contains(t, advice, "ZONEINFO")
}

// TestEnginesOfAgents: what agents say of their engines is stored with their terms, and doctor
// reports that they differ.
func TestEnginesOfAgents(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		start := func(host, engine string) {
			_, err := c.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: host, Version: "1", Engine: engine, ZoneData: "2025b of /z"}, time.Hour)
			require.NoError(t, err)
		}
		start("a", "jobs/schedule 2, zones 111")
		start("old", "")
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeAgents)))
		start("b", "jobs/schedule 2, zones 222")
		start("long", "jobs/schedule 2, zones "+strings.Repeat("é", 200))
		list, err := fleet.On(c.Store).List(t.Context())
		require.NoError(t, err)
		engines := map[string]string{}
		for _, a := range list {
			engines[a.Host] = a.Engine + "|" + a.ZoneData
		}
		require.Equal(t, "jobs/schedule 2, zones 111|2025b of /z", engines["a"])
		require.Equal(t, "|", engines["old"])
		require.Len(t, []rune(engines["long"]), 128+len("|2025b of /z"))
		found := c.findings(t, doctor.CodeAgents)
		require.Len(t, found, 2)
		require.Equal(t, doctor.SeverityWarning, found[1].Severity)
		require.Contains(t, found[1].Found, "zones 222 from 2025b of /z on b")
		require.Contains(t, found[1].Why, fleet.EngineEffect)
	})
}
