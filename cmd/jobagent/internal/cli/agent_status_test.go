package cli_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
)

// Two live agents with other time zone rules: status warns, and says what to do; the list has both.
func TestStatusWarnsOfEngines(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	status := func() (list []map[string]any, stderr string) {
		var out, errors bytes.Buffer
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), []string{"agent", "status", "-o", "json"}, nil, &out, &errors), errors.String())
		require.NoError(t, json.Unmarshal(out.Bytes(), &list))
		return list, errors.String()
	}
	start := func(host, zones, data string) {
		_, err := server.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: host, Version: "1", Engine: "jobs/schedule 2, zones " + zones, ZoneData: data}, time.Hour)
		require.NoError(t, err)
	}
	start("a", "111", "2025b of /usr/share/zoneinfo")
	_, stderr := status()
	require.Empty(t, stderr)
	start("b", "222", "time/tzdata of go1.26.8")
	list, stderr := status()
	require.Len(t, list, 2)
	require.Equal(t, "jobs/schedule 2, zones 222", list[0]["engine"])
	require.Equal(t, "time/tzdata of go1.26.8", list[0]["zone_data"])
	require.Contains(t, stderr, "warning: live agents have different time zone rules: jobs/schedule 2, zones 111 from 2025b of /usr/share/zoneinfo on a; ")
	require.Contains(t, stderr, "a schedule may be due at another instant")
	require.Contains(t, stderr, "ZONEINFO")
}
