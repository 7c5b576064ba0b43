package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// runBench runs a benchmark with small parameters and returns its output.
func runBench(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(t.Context(), append([]string{"bench"}, args...), nil, &stdout, &stderr),
		stderr.String())
	return stdout.String()
}

// figures parses a report in JSON.
func figures(t *testing.T, text string) map[string]float64 {
	t.Helper()
	var report output.Bench
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, "embedded", report.Server)
	require.Positive(t, report.Cores)
	m := map[string]float64{}
	for _, f := range report.Figures {
		m[f.Name] = f.Value
	}
	return m
}

func TestBenchFanout(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "fanout", "--targets", "3", "--concurrency", "2", "--rounds", "1", "-o", "json"))
	require.Equal(t, 3.0, f["targets"])
	for _, name := range []string{"agent_rate", "bare_rate", "ratio", "agent_cpu", "bare_cpu", "cpu_ratio", "control_round_trips_per_target"} {
		require.Positive(t, f[name], name)
	}
}

// The test is not parallel: a process has one profile at a time.
func TestBenchQuery(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "cpu.pprof")
	f := figures(t, runBench(t, "query", "--targets", "3", "--concurrency", "2", "--rounds", "1", "-o", "json", "--cpuprofile", profile))
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	require.Equal(t, []byte{0x1f, 0x8b}, text[:2], "gzip, as pprof reads it")
	require.Equal(t, 3.0, f["targets"])
	for _, name := range []string{"query_rate", "bare_rate", "ratio", "first_row"} {
		require.Positive(t, f[name], name)
	}
}

func TestBenchFanoutHTTP(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "fanout", "--http", "--targets", "5", "--concurrency", "2", "--rounds", "1", "--latency", "1ms", "-o", "json"))
	require.Equal(t, 5.0, f["targets"])
	require.Equal(t, 1.0, f["latency"])
	for _, name := range []string{"agent_rate", "bare_rate", "ratio", "control_round_trips_per_target"} {
		require.Positive(t, f[name], name)
	}
}

func TestBenchControl(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "control", "--tasks", "25", "--batch", "10", "--updates", "10", "--queued-few", "3",
		"--queued-many", "40", "-o", "json"))
	require.Equal(t, 25.0, f["tasks"])
	for _, name := range []string{"task_rate", "bare_update_rate", "ratio", "memory_3_queued", "memory_40_queued",
		"memory_ratio"} {
		require.Positive(t, f[name], name)
	}
}

// On the server of --dsn, scripts run with its login and its pinned certificate, and no database is
// left behind.
func TestBenchOnServer(t *testing.T) {
	t.Parallel()
	server := startDev(t, t.TempDir(), "127.0.0.1:0")
	runBench(t, "control", "--dsn", server.dsn("master"), "--tasks", "25", "--batch", "10", "--updates", "10", "--queued-few", "32",
		"--queued-many", "40", "-o", "json")
	left := 0
	require.NoError(t, server.open(t, "master").QueryRow("SELECT COUNT(*) FROM sys.databases WHERE name LIKE N'jobagent[_]bench%';").Scan(&left))
	require.Zero(t, left)
}

// Rounds with and without telemetry alternate.
func TestBenchCompare(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"fanout", "--compare", "metrics,tracing", "--targets", "2", "--concurrency", "2", "--rounds", "2"},
		{"control", "--compare", "metrics", "--tasks", "10", "--batch", "10", "--rounds", "1"},
	} {
		f := figures(t, runBench(t, append(args, "-o", "json")...))
		for _, name := range []string{"rate_off", "rate_on", "rate_ratio", "cpu_off", "cpu_on", "cpu_ratio"} {
			require.Positive(t, f[name], "%v %s", args, name)
		}
	}
}

func TestBenchLag(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "lag", "--schedules", "3", "--duration", "1s", "-o", "json"))
	require.Equal(t, 3.0, f["runs"])
	require.LessOrEqual(t, f["due_to_started_p50"], f["due_to_started_p99"])
	require.LessOrEqual(t, f["due_to_started_p99"], f["due_to_started_max"])
	require.Positive(t, f["started_to_first_statement_max"])
}

func TestBenchREST(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "rest", "--gets", "20", "--puts", "5", "--connections", "4", "--jobs", "3", "--duration", "1s", "-o", "json"))
	for _, name := range []string{"front_get_rate", "front_put_rate", "bare_get_rate", "bare_put_rate", "front_cpu_per_request"} {
		require.Positive(t, f[name], name)
	}
	require.Zero(t, f["front_errors"]+f["bare_errors"])
	require.LessOrEqual(t, f["front_get_p50"], f["front_get_p99"])
}

func TestBenchLagOfManySchedules(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "lag", "--daily", "--schedules", "60", "--duration", "2s", "-o", "json"))
	require.Equal(t, 60.0, f["schedules"])
	require.Equal(t, 2.0, f["runs"], "one is due each second")
	require.Positive(t, f["validated_per_second"])
	require.Positive(t, f["due_to_started_p99"])
}

func TestBenchIdle(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(bytes.NewBufferString(runBench(t, "idle", "--duration", "200ms", "-o", "csv"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"bench", "server", "cores", "name", "value", "unit", "bar"}, rows[0])
	require.Equal(t, "queries", rows[1][3])
	require.Equal(t, "queries_per_second", rows[2][3])
	require.Contains(t, runBench(t, "idle", "--duration", "100ms", "--schedules", "30"), "queries_per_second")
	out := runBench(t, "idle", "--duration", "100ms", "--waiting", "1010")
	for _, figure := range []string{"pass_ratio", "deadline_lag_max"} {
		require.Contains(t, out, figure)
	}
}

func TestBenchStop(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "stop", "--targets", "3", "--rounds", "2", "--settle", "0s", "-o", "json"))
	require.Equal(t, 3.0, f["targets"])
	for _, name := range []string{"stop_to_target_canceled", "stop_to_run_canceled", "stop_to_sessions_gone"} {
		require.Positive(t, f[name+"_p50"], name)
		require.LessOrEqual(t, f[name+"_p50"], f[name+"_p99"], name)
	}
}

func TestBenchBounds(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "bounds", "--small", "20", "--large", "60", "-o", "json"))
	for _, name := range []string{"resolution", "stop", "time_limit", "alerts", "rerun", "outage", "outage_end", "purge", "audit"} {
		for _, n := range []string{"20", "60"} {
			require.Positive(t, f[name+"_"+n+"_call_p50"], name)
		}
		require.Positive(t, f[name+"_rows_ratio"], name)
		require.Positive(t, f[name+"_call_ratio"], name)
	}
}

func TestBenchCleanup(t *testing.T) {
	t.Parallel()
	f := figures(t, runBench(t, "cleanup", "--runs", "2", "--targets", "30", "--batch", "10", "-o", "json"))
	require.Equal(t, 30.0, f["targets"])
	require.Positive(t, f["passes"])
	require.Positive(t, f["pass_p50"])
	require.LessOrEqual(t, f["pass_p50"], f["pass_p99"])
}

func TestBenchRefusesArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"query", "--targets", "0"}, {"query", "--concurrency", "1001"}, {"query", "--rounds", "101"}, {"fanout", "--targets", "0"}, {"fanout", "--concurrency", "-1"}, {"fanout", "--rounds", "0"},
		{"fanout", "--http", "--latency", "-1s"}, {"fanout", "--latency", "1s"}, {"fanout", "--http", "--statement", "PRINT 1;"},
		{"control", "--tasks", "0"}, {"control", "--compare", "logs"},
		{"control", "--batch", "0"}, {"control", "--connections", "0"}, {"control", "--updates", "0"},
		{"control", "--rounds", "0"}, {"control", "--queued-few", "0"},
		{"lag", "--schedules", "0"}, {"lag", "--concurrency", "0"}, {"lag", "--duration", "1ms"},
		{"idle", "--duration", "0s"}, {"idle", "--schedules", "-1"}, {"idle", "--waiting", "-1"}, {"idle", "-o", "xml"},
		{"stop", "--targets", "0"}, {"stop", "--rounds", "0"}, {"stop", "--settle", "-1s"},
		{"cleanup", "--runs", "0"}, {"cleanup", "--targets", "0"}, {"cleanup", "--batch", "0"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exit.CodeUsage, cli.Run(t.Context(), append([]string{"bench"}, args...), nil, &stdout, &stderr),
			"%v: %s", args, stderr.String())
		require.Empty(t, stdout.String())
	}
}
